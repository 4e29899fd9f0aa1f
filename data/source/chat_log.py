"""A chat log as an agent writes it: requests with all of its tools, answers that call them, and what goes wrong."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from data.source.dice import Dice
from data.source.tool_set import World, catalogue, right_tools, session, world
from data.source.wording import Speaker, manner, unspoken

Line = dict[str, Any]
Message = dict[str, Any]

DOMAINS = ("calendar", "mail", "weather")
SIDE = "train"  # whose phrases the users say
FIRST = 1_767_603_600  # seconds since 1970
ADDRESS, KEY = "ann.berg@example.com", "sk-test-4f9Qw2LxZr81VbNc"  # made up: an import takes both out
NO_TOOL = ("thanks, that is all", "no, leave it as it is", "who are you?", "ok good", "what can you do for me?")
ANSWER = "Done."
RETRY, UNKNOWN, CUT, REFUSED, AGAIN, SECRET, SILENT = 0.06, 0.03, 0.03, 0.02, 0.04, 0.05, 0.3


@dataclass
class Talk:
    """A conversation in work: what was said so far, and its clock."""

    dice: Dice
    name: str
    time: int
    tools: list[Line]
    messages: list[Message] = field(default_factory=list)
    calls: int = 0

    def line(self, answer: Message, finish: str) -> Line:
        """The request so far with this answer, as the log has it; the answer then belongs to what was said."""
        self.time += self.dice.between(2, 40)
        request = {"model": "assistant-1", "messages": list(self.messages), "tools": self.tools}
        choice = {"index": 0, "message": answer, "finish_reason": finish}
        response = {"object": "chat.completion", "created": self.time, "choices": [choice]}
        self.messages.append(answer)
        return {"metadata": {"conversation_id": self.name}, "request": request, "response": response}

    def called(self, names: list[str], query: str) -> Line:
        """An answer that calls the tools, all at once."""
        calls = []
        for name in names:
            self.calls += 1
            function = {"name": name, "arguments": f'{{"text": "{len(query)} characters"}}'}
            calls.append({"id": f"{self.name}-{self.calls}", "type": "function", "function": function})
        return self.line({"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls")

    def result(self, content: str) -> None:
        """The result of each call of the last answer."""
        for call in self.messages[-1]["tool_calls"]:
            self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})

    def said(self, text: str, finish: str = "stop") -> Line:
        """An answer in words."""
        return self.line({"role": "assistant", "content": text}, finish)


def lines(conversations: int) -> Iterator[Line]:
    """The log of so many conversations, one after the other."""
    dice, spoken, tools = Dice("chat log"), set[str](), listed()
    drawn_from = within(world(SIDE), DOMAINS)
    speaking, time = manner(SIDE), FIRST
    for number in range(1, conversations + 1):
        time += dice.between(200, 2000)
        talk = Talk(dice, f"c{number:04d}", time, tools)
        talk.messages.append({"role": "system", "content": "You are the assistant of a small firm."})
        speaker = Speaker(dice, speaking)
        for intent in session(dice, drawn_from):
            query = unspoken(speaker, lambda intent=intent: intent.phrases, spoken)
            yield from turn(talk, query, right_tools(dice, intent))
        if dice.chance(SILENT):
            talk.messages.append({"role": "user", "content": dice.pick(NO_TOOL)})
            yield talk.said("You are welcome.")
        time = talk.time


def turn(talk: Talk, query: str, right: list[str]) -> Iterator[Line]:
    """What follows a message of a user: mostly the right call, its result and an answer in words."""
    dice = talk.dice
    secret = f" (write to {ADDRESS}, the key is {KEY})" if dice.chance(SECRET) else ""
    talk.messages.append({"role": "user", "content": query + secret})
    if dice.chance(CUT):
        yield talk.said("Let me see what I can", "length")
        return
    if dice.chance(REFUSED):
        yield talk.line({"role": "assistant", "content": None, "refusal": "I cannot help with that."}, "stop")
        return
    if dice.chance(UNKNOWN):
        yield talk.called(["ask_the_boss"], query)
        return
    yield (decision := talk.called(right, query))
    if dice.chance(AGAIN):
        yield decision  # written twice
    if dice.chance(RETRY):
        talk.result('{"error": "timed out"}')
        yield talk.called(right, query)
    talk.result('{"ok": true}')
    yield talk.said(ANSWER)


def listed() -> list[Line]:
    """The tools of the domains as a request has them."""
    texts = catalogue()["tools"]
    names = [name for domain in DOMAINS for name in world(SIDE).tools[domain]]
    return [function(name, texts[name]) for name in names]


def function(name: str, text: dict[str, str]) -> Line:
    """A tool in the form of Chat Completions."""
    properties = {each: {"type": "string"} for each in text["inputs"].split(", ")}
    schema = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": name, "description": text["description"], "parameters": schema}}


def within(every: World, domains: tuple[str, ...]) -> World:
    """The world with these domains alone."""
    tools = {domain: every.tools[domain] for domain in domains}
    return replace(every, tools=tools, intents={domain: every.intents[domain] for domain in domains})
