"""What AWS and its Python library say when they refuse, as errors for people: what, why, and what to type.

Use it around every call: `with explained("ec2:DescribeInstanceTypes", region): ...`. The library is imported only when
something has gone wrong, so that importing this module stays cheap.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from brimful.model.errors import BrimfulError, CloudError, UsageError

ACTIONS = (
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeInstanceTypeOfferings",
    "ec2:DescribeSpotPriceHistory",
    "pricing:GetProducts",
)

_DENIED = {"UnauthorizedOperation", "AccessDenied", "AccessDeniedException"}
_OPT_IN = "OptInRequired"
_INVALID = {
    "AuthFailure", "InvalidClientTokenId", "InvalidAccessKeyId", "InvalidSignatureException",
    "UnrecognizedClientException", "SignatureDoesNotMatch", "IncompleteSignature", "MissingAuthenticationToken",
    "MissingAuthenticationTokenException", "NotSignedUp", "InvalidToken",
}  # fmt: skip
_THROTTLED = {
    "Throttling", "ThrottlingException", "ThrottledException", "RequestThrottled", "RequestThrottledException",
    "RequestLimitExceeded", "TooManyRequestsException", "SlowDown", "BandwidthLimitExceeded",
    "EC2ThrottledException", "PriorRequestNotComplete", "ProvisionedThroughputExceededException",
}  # fmt: skip
_BROKEN_PAGES = {
    "InvalidNextToken", "InvalidNextTokenException", "ExpiredNextTokenException", "InvalidPaginationToken",
}  # fmt: skip

# Regions that every account has from the start. In the others EC2 answers AuthFailure, the word for wrong keys, to an
# account that has not enabled the region: there the error must name both causes.
_ALWAYS_ENABLED = {
    "ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "ap-south-1", "ap-southeast-1", "ap-southeast-2",
    "ca-central-1", "eu-central-1", "eu-north-1", "eu-west-1", "eu-west-2", "eu-west-3", "sa-east-1", "us-east-1",
    "us-east-2", "us-west-1", "us-west-2",
}  # fmt: skip

_CHECK = "check them: aws sts get-caller-identity"
_GET = "set AWS_PROFILE, or pass --profile NAME, or make credentials: aws configure (or aws configure sso)"
_AGAIN = "run it again; if it stays, a proxy or AWS_ENDPOINT_URL may stand between: unset AWS_ENDPOINT_URL"

# What AWS calls it -> what happened, why, and what to type.
_REFUSALS: tuple[tuple[set[str], str, str, str], ...] = (
    (
        _DENIED,
        "AWS does not allow {action} in {region}",
        "{said}",
        "allow {action} for this identity; all that a refresh needs is {policy}",
    ),
    (
        {"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"},
        "the AWS credentials have expired",
        "{said}",
        "renew them where they came from (e.g. aws sso login), then run it again",
    ),
    (
        {"RequestExpired", "RequestTimeTooSkewed"},  # EC2 says the same of expired credentials and of a wrong clock
        "the AWS credentials have expired, or this machine's clock is wrong",
        "{said}",
        "renew them (e.g. aws sso login); if they are fresh, set the clock: timedatectl set-ntp true",
    ),
    (
        {_OPT_IN, "RegionDisabledException"},
        "this AWS account cannot use {region}",
        "{said}; the region is not enabled for the account, or the credentials are wrong",
        f"enable it: aws account enable-region --region-name {{region}}; if it is enabled, {_CHECK}",
    ),
    (_INVALID, "AWS does not accept the credentials", "{said}", f"{_CHECK}, or {_GET}"),
    (
        _THROTTLED,
        "AWS throttles {action} in {region}",
        "{said}; it was asked several times, with growing pauses",
        "wait some minutes, then run it again",
    ),
    (_BROKEN_PAGES, "AWS answered {action} in {region} by halves", "{said}", _AGAIN),
)


def policy() -> str:
    """Return the least IAM policy with which a refresh works, as one line of JSON."""
    statement = {"Sid": "BrimfulCatalogRefresh", "Effect": "Allow", "Action": list(ACTIONS), "Resource": "*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]}, separators=(",", ":"))


@contextmanager
def explained(action: str, region: str) -> Iterator[None]:
    """Turn whatever the AWS library raises into an error of ours that names the action and the region."""
    try:
        yield
    except BrimfulError:
        raise
    except Exception as error:
        problem = _explain(error, action, region)
        if problem is None:
            raise
        raise problem from error


def is_denial(error: BrimfulError) -> bool:
    """Say whether an error made here means that IAM forbids the call."""
    return _code(error.__cause__) in _DENIED


def half_answer(action: str, region: str, why: str) -> CloudError:
    """Return the error for an answer that stops in the middle or lacks what it must have."""
    return CloudError(
        f"AWS answered {action} in {region} by halves",
        why=why,
        fix=_AGAIN,
    )


def _code(error: BaseException | None) -> str:
    response = getattr(error, "response", None)
    told = response.get("Error") if isinstance(response, dict) else None
    return str(told.get("Code", "")) if isinstance(told, dict) else ""


def _explain(error: Exception, action: str, region: str) -> BrimfulError | None:
    from botocore import exceptions, parsers  # noqa: PLC0415 - the AWS library is an extra, and slow to import

    unreachable = exceptions.HTTPClientError, exceptions.ConnectionError
    known: tuple[tuple[Any, Callable[[], BrimfulError]], ...] = (
        (exceptions.ClientError, lambda: _refusal(_code(error), _short(error), action, region)),
        (exceptions.ProfileNotFound, lambda: _no_profile(_short(error))),
        (exceptions.PaginationError, lambda: half_answer(action, region, _short(error))),
        (parsers.ResponseParserError, lambda: half_answer(action, region, f"it is not AWS's: {_short(error)}")),
        (unreachable, lambda: _unreachable(error, action, region)),
        (exceptions.BotoCoreError, lambda: _library_error(error, action, region)),
    )
    return next((make() for kinds, make in known if isinstance(error, kinds)), None)


def _refusal(code: str, said: str, action: str, region: str) -> CloudError:
    """Return the error for an answer of AWS that says no."""
    if code in _INVALID and action.startswith("ec2:") and region not in _ALWAYS_ENABLED:
        code = _OPT_IN
    words = {"action": action, "region": region, "said": said, "policy": policy()}
    for codes, what, why, fix in _REFUSALS:
        if code in codes:
            return CloudError(what.format(**words), why=why.format(**words), fix=fix.format(**words))
    return CloudError(
        f"AWS answered {action} in {region} with {code or 'an error'}", why=said, fix="run it again later"
    )


def _no_profile(said: str) -> UsageError:
    import botocore.session  # noqa: PLC0415 - as above

    names: list[str] = list(botocore.session.Session().available_profiles)
    known = f"the profiles are {', '.join(sorted(names))}" if names else "there are no profiles at all"
    return UsageError(f"there is no such AWS profile: {said}", why=known, fix="name one of them, or: aws configure")


def _unreachable(error: Exception, action: str, region: str) -> CloudError:
    return CloudError(
        f"AWS cannot be reached for {action} in {region}",
        why=_short(error),
        fix="check the network, HTTPS_PROXY and AWS_ENDPOINT_URL, then run it again",
    )


# The library's own complaints about credentials: its classes have no common parent below BotoCoreError.
_NO_CREDENTIALS = {
    "NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "NoAuthTokenError",
    "InvalidConfigError", "InfiniteLoopConfigError", "UnknownCredentialError", "ConfigParseError", "ConfigNotFound",
}  # fmt: skip


def _library_error(error: Exception, action: str, region: str) -> CloudError:
    name = type(error).__name__
    if name in _NO_CREDENTIALS:
        return CloudError("there are no AWS credentials that work", why=_short(error), fix=_GET)
    if name.startswith(("SSO", "UnauthorizedSSO", "Login", "TokenRetrieval")):
        return CloudError(
            "the AWS sign-in is not valid any more", why=_short(error), fix="sign in again: aws sso login"
        )
    return CloudError(f"{action} in {region} failed in the AWS library", why=_short(error), fix="run it again with -v")


def _short(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else f"{text[:300]}…"
