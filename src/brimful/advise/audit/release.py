"""How a machine may be let go, and which must not be stopped from outside: practices 91 and 92.

What somebody else starts, protects or bills is never to be stopped behind his back: the owner starts it anew, and what
is reserved is billed all the same.
"""

from __future__ import annotations

import re

from brimful.advise.audit.facts import Facts
from brimful.model.hardware import Machine, Offer, Status
from brimful.model.text import command_line

KUBERNETES_TAGS = (
    "kubernetes.io/",
    "k8s.io/",
    "eks:",
    "aws:eks:",
    "alpha.eksctl.io/",
    "karpenter.",
    "node.kubernetes.io/",
)
# How the tags begin that whoever starts machines leaves on them, and who that is.
_OWNER_TAGS: dict[str, tuple[str, ...]] = {
    "Kubernetes": KUBERNETES_TAGS,
    "an Auto Scaling group": ("aws:autoscaling:",),
    "EMR": ("aws:elasticmapreduce:",),
    "AWS Batch": ("aws:batch:", "awsbatchservicetag"),
    "a Spot Fleet": ("aws:ec2spot:",),
    "an EC2 Fleet": ("aws:ec2:fleet-id",),
    "ECS": ("aws:ecs:", "amazonecsmanaged"),
    "Elastic Beanstalk": ("aws:elasticbeanstalk:", "elasticbeanstalk:"),
    "SageMaker": ("aws:sagemaker:", "sagemaker:"),
    "ParallelCluster (Slurm)": ("parallelcluster:", "aws-parallelcluster"),
    "Slurm": ("slurm",),
    "Ray": ("ray-",),
    "SkyPilot": ("skypilot",),
    "Databricks": ("databricks",),
}
# Names without case, hyphens, blanks and namespaces' colons: brimful:keep, Do-Not-Stop, do_not_stop.
_PROTECTING_TAGS = (
    *("brimfulkeep", "keep", "keepalive", "keeprunning", "alwayson", "protect", "protected", "stopprotection"),
    *("terminationprotection", "deletionprotection", "donotstop", "donotterminate", "donotdelete", "nostop"),
)
_NO = frozenset(("false", "no", "off", "0", "disabled"))
_BILLED_ANYWAY = ("reserved", "savings-plan", "capacity-block", "capacity-reservation", "odcr")


def is_billed_anyway(machine: Machine) -> bool:
    """Say whether a machine costs the same when it is stopped."""
    return machine.purchase in _BILLED_ANYWAY


def owner_of(machine: Machine) -> str | None:
    """Return who would start a machine again: as the inventory says, else as its tags do."""
    if machine.owner:
        return machine.owner
    names = sorted(tag.lower() for tag in machine.tags)
    return next((who for who, begins in _OWNER_TAGS.items() if any(name.startswith(begins) for name in names)), None)


def is_kubernetes(machine: Machine) -> bool:
    """Say whether a machine bears a tag of Kubernetes."""
    return any(tag.lower().startswith(KUBERNETES_TAGS) for tag in machine.tags)


def _protecting_tag(machine: Machine) -> str | None:
    for tag, value in machine.tags.items():
        if re.sub(r"[-_:/\s]", "", tag.lower()) in _PROTECTING_TAGS and value.strip().lower() not in _NO:
            return tag
    return None


def hold(machine: Machine) -> str | None:
    """Return what to do instead when a machine must not be stopped from outside; None when it may."""
    owner, tag = owner_of(machine), _protecting_tag(machine)
    if owner:
        return f"let its owner ({owner}) scale it in: stopped from outside, it is started anew"
    if tag:
        return f"it is tagged {tag}: ask who set that, then stop it or scale it to zero"
    if machine.purchase == "spot":
        return "end it through its Spot request or fleet: stopped from outside, it may be started anew"
    if is_billed_anyway(machine):
        return f"give it other work: {machine.purchase} is billed while it is stopped too"
    if machine.purchase != "on-demand":
        return f"find out first whether a stop ends the bill: it is bought as {machine.purchase}"
    return None


def how(facts: Facts, machine: Machine) -> str:
    """Return how to let an idle machine go."""
    held, offer = hold(machine), facts.offer_of(machine)
    if held:
        return held
    if offer and offer.status is Status.WITHDRAWN:
        return "never stop it, a withdrawn type may not start again: move to a successor"
    if offer and offer.nvme_bytes:
        return "save its instance store, then stop it (drop --dry-run) or scale to zero"
    return "stop it while it is idle (drop --dry-run), or give it a schedule"


def command(facts: Facts, machine: Machine, *, idle_now: bool) -> tuple[str | None, str]:
    """Return what to type, or None with the reason: never a stop of what is held, busy now or could not start again."""
    if hold(machine):
        return None, "it must not be stopped from outside: see the fix"
    offer = facts.offer_of(machine)
    if offer and offer.status is Status.WITHDRAWN:
        return compare(offer), ""
    if machine.cloud != "ec2":
        return None, "how a machine of its cloud is stopped is not known"
    if machine.region is None:
        return None, "the inventory does not say its region, without which the command may reach another machine"
    if not idle_now:
        return None, "it is not idle now"
    place = ("--region", machine.region, "--instance-ids", machine.machine)
    return command_line("aws", "ec2", "stop-instances", "--dry-run", *place), ""


def compare(offer: Offer, *others: str) -> str:
    """Return the command that shows a type beside others, or beside its successors."""
    return command_line("brimful", "catalog", "show", offer.instance, *(others or offer.successors))
