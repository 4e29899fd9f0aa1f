"""How the data of this project are made: hand-written tables, and what draws queries and candidates from them."""
