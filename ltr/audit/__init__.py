"""What can be wrong with samples, and with a run directory: findings, with their number and their first places."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ltr.audit.audit import audit_columns as audit_columns
    from ltr.audit.audit import audit_run as audit_run
    from ltr.audit.audit import audit_samples as audit_samples
    from ltr.audit.audit import quick_findings as quick_findings
    from ltr.audit.findings import AuditReport as AuditReport
    from ltr.audit.findings import Finding as Finding
else:
    from ltr.lazy import attach

    __getattr__, __dir__, __all__ = attach(__name__)
