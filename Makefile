.DEFAULT_GOAL := help
SHELL := /bin/bash
STAMP := .venv/.stamp
NOX := .venv/bin/nox

help:  ## Show the commands
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

$(STAMP): requirements/venv.txt requirements/make-venv
	@requirements/make-venv .venv

sandbox: $(STAMP)  ## Boot five machines, roll OVN out over SSH, ping through Geneve, print a report
	@tests/testbed/sandbox up

sandbox-down:  ## Remove every trace of the sandbox
	@tests/testbed/sandbox down

kind: $(STAMP)  ## The same on Kubernetes: two kind clusters, a ping between nodes of one, the databases in the other
	@tests/testbed/kind up

operator: $(STAMP)  ## OVN on two empty kind clusters by kubectl apply alone: the operator, one OVNCluster, one Secret; then a ping
	@tests/testbed/kind operator

kind-down:  ## Remove every trace of the clusters
	@tests/testbed/kind down

openstack: $(STAMP)  ## A real Neutron on machines with OVN: instances, metadata, a floating IP, and the death of the leader under API calls
	@tests/testbed/openstack up

bench-openstack: $(STAMP)  ## Measure in it: outages of gateways and leaders, with the leader proxy and without; ports
	@tests/testbed/openstack bench

openstack-down:  ## Remove every trace of it
	@tests/testbed/openstack down

test: $(STAMP)  ## Lint gates, sanity, unit tests, real daemons on loopback, machines
	@$(NOX)

test-kind: $(STAMP)  ## The collection on the two clusters: rollout, kills, losses, restarts
	@$(NOX) --session kind

docs: $(STAMP)  ## Build the documentation as a site, .nox/docsite/html/index.html, and check its links
	@$(NOX) --session docsite

chaos: $(STAMP)  ## Random faults on real database servers under writers: ON=hosts|pods SEED=number BUDGET=seconds
	@$(NOX) --session chaos

bench: $(STAMP)  ## Measure against a ping over the same hosts
	@$(NOX) --session bench

SEED ?= $(shell date +%s)
DEPTH ?= 8
BUDGET ?= 120

simulate: $(STAMP)  ## Explore sequences of faults and runs in a model: SEED, DEPTH (events), BUDGET (seconds)
	@PYTHONPATH=tests .venv/bin/python -m simulation --seed $(SEED) --depth $(DEPTH) --budget $(BUDGET)

.PHONY: help sandbox sandbox-down kind operator kind-down openstack openstack-down bench-openstack test test-kind docs chaos bench simulate
