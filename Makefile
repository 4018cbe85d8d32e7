# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# 'make help' says what there is. The module itself is described in Kbuild.

KVER	?= $(shell uname -r)
# A kernel that scripts/kernel knows: stock-6.12, debug-6.12, uml-6.12, and so on.
# Without one, the module is for the running kernel, or for KDIR.
KERNEL	?=
ifneq ($(KERNEL),)
KDIR	?= $(shell scripts/kernel path $(KERNEL) --kdir)
LABEL	:= $(KERNEL)
KBUILD_ARCH := ARCH=$(shell scripts/kernel path $(KERNEL) --arch)
KMAKE	:= $(patsubst make,$(MAKE),$(shell scripts/kernel path $(KERNEL) --make))
else
KMAKE	:= $(MAKE)
KDIR	?= /lib/modules/$(KVER)/build
LABEL	:= $(notdir $(patsubst %/build,%,$(KDIR)))
endif

# kbuild leaves its objects beside the sources, so that each kernel gets a copy
# of them to build in. What is not copied from the tree is kbuild's to keep.
MIRROR	:= build/$(LABEL)/src
STAGE	:= build/$(LABEL)/stage
SOURCES	:= $(wildcard Kbuild include net tools/testing/kunit)
KEEP	:= *.o *.ko *.a *.d *.mod *.mod.c .*.cmd Module.symvers modules.order
KBUILD	= $(KMAKE) --no-print-directory -C $(KDIR) M=$(CURDIR)/$(MIRROR) $(KBUILD_ARCH)

# Kernels that the tests boot, unless 'choose' is to find what is fastest here. The
# checking kernel of QEMU is also the one whose source the style is checked with.
TEST_KERNEL	?= $(KERNEL)
CHECK_KERNEL	?=
STYLE_KERNEL	?= debug-6.12
choose		= tools/testing/guest/choose
SUBMAKE		= $(MAKE) --no-print-directory
# Programs for the guests, which several parts of 'check' build: whoever comes second waits.
alone		= (mkdir -p build && exec 7> build/$(1).lock && flock 7 && \
		   $(SUBMAKE) -C tools/testing/$(1))

.DEFAULT_GOAL := modules
.PHONY: all modules modules_install stage clean distclean help kdir deps \
	unit sim sim-soak kunit kunit-on selftests selftests-on selftests-full \
	selftests-debian selftests-debian-full selftests-debug selftests-6.1 \
	selftests-soak storm storm-soak harness harness-full style style-full conformance codec fuzz \
	clock coverage check check-full soak demo dist packaging interfaces

all: modules

kdir:
	@test -n "$(KDIR)" -a -e "$(KDIR)/Makefile" || { \
	  echo "No kernel build directory '$(KDIR)'." >&2; \
	  echo "Install linux-headers-$(KVER), or name another kernel:" >&2; \
	  echo "  make KDIR=<build directory>    or    make KERNEL=stock-6.12" >&2; \
	  exit 1; }

# One build at a time for each kernel: whoever comes second waits.
modules: kdir
	@command -v rsync > /dev/null || { echo "Install rsync." >&2; exit 1; }
	@mkdir -p $(MIRROR)
	+@exec 9> $(MIRROR).lock && flock 9 && \
	  rsync -a -R --delete $(foreach pattern,$(KEEP),--exclude='$(pattern)') \
	    $(SOURCES) $(MIRROR)/ && \
	  $(KBUILD) modules

# As the kernel's own target of that name, with INSTALL_MOD_PATH; into updates/,
# where depmod looks first. DEPMOD=true leaves depmod to a package's scripts.
# kbuild's own attempt at it needs a System.map, which headers lack; and it wants
# to sign, which needs a key.
DEPMOD	?= depmod
modules_install: modules
	+@$(KBUILD) modules_install INSTALL_MOD_DIR=updates DEPMOD=true \
	  $(if $(wildcard $(KDIR)/certs/signing_key.pem),,CONFIG_MODULE_SIG_ALL=)
	@$(DEPMOD) $(if $(INSTALL_MOD_PATH),-b $(INSTALL_MOD_PATH)) \
	  "$$(cat $(KDIR)/include/config/kernel.release)"

# What a guest that boots KERNEL will find in /lib/modules. Only what changed is
# replaced: a guest may be running from it. Neither debug data nor compression: it
# would be the guest that unpacks them. One at a time for each kernel.
stage:
	@test -n "$(KERNEL)" || { echo "make stage needs KERNEL=" >&2; exit 1; }
	@mkdir -p $(STAGE)
	+@exec 8> $(STAGE).lock && flock 8 && rm -rf $(STAGE).new && \
	  $(SUBMAKE) modules_install KERNEL=$(KERNEL) DEPMOD=true \
	    INSTALL_MOD_PATH=$(CURDIR)/$(STAGE).new INSTALL_MOD_STRIP=1 \
	    CONFIG_MODULE_COMPRESS_XZ= && \
	  (cd $(STAGE).new && rsync -rpcR --delete ./lib/modules/*/updates ../stage/) && \
	  scripts/kernel stage $(KERNEL) $(STAGE)

clean:
	rm -rf build
	+@for part in $(wildcard tools/testing/*/Makefile); do \
	  $(SUBMAKE) -C "$${part%/*}" clean || exit; done

distclean: clean
	scripts/kernel forget

deps:
	scripts/install-deps

unit:
	+@$(SUBMAKE) -C tools/testing/unit check

# The simulator: SEED= where to begin, SIM_SECONDS= how long.
sim:
	+@$(SUBMAKE) -C tools/testing/sim check

# The same from another seed each time, and for longer.
sim-soak:
	+@$(SUBMAKE) -C tools/testing/sim check SEED=$$(date +%s)000000 \
	  SIM_SECONDS=$(or $(SIM_SECONDS),1800)

# On the fastest checking kernel, and on one with several processors.
kunit:
	+@kernels="$(or $(CHECK_KERNEL),$$($(choose) checks cpus))" || exit; \
	for kernel in $$kernels; do $(SUBMAKE) kunit-on KERNEL=$$kernel || exit; done

kunit-on: stage
	@tools/testing/guest/guest --kernel $(KERNEL) tools/testing/guest/kunit

# INTREE=both (or server, client) runs the kernel's own transport instead.
selftests:
	+@kernel="$(or $(TEST_KERNEL),$$($(choose) selftests))" || exit; \
	case $$kernel in *debug*) export MOST=1 ;; esac; \
	$(SUBMAKE) selftests-on KERNEL=$$kernel

# A guest that is a process waits as long as it works: twice as many as processors.
selftests-on: $(if $(filter both,$(INTREE)),,stage)
	+@$(call alone,peer)
	$(if $(filter uml%,$(KERNEL)),+@$(call alone,clock))
	+@$(SUBMAKE) -C tools/testing/selftests/rpcrdma run_tests \
	  KERNEL=$(KERNEL) TESTS="$(TESTS)" FULL=$(FULL) \
	  JOBS=$(or $(JOBS),$(if $(filter uml%,$(KERNEL)),$(shell expr 2 \* $$(nproc)),1))

selftests-full:
	+@$(SUBMAKE) selftests FULL=1

# What proves that it is Debian's kernel that serves and mounts. Of wire_client.sh what
# does not wait for time-outs, which take minutes without virtual time.
# One processor: with two QEMU's emulation now and then runs the breakpoint of a static
# branch that has been changed already ("Oops: int3").
DEBIAN_TESTS	?= mount.sh data.sh contract.sh wire_server.sh
DEBIAN_CLIENT	?= client_mount.*:client_header.*:client_continued.*:client_reply.*:$\
		   client_credits.*:client_callback.*:client_invalidation.*:client_reverse.*
selftests-debian:
	+@kernel="$$($(choose) debian)" || exit; status=0; export CPUS=$(or $(CPUS),1); \
	$(SUBMAKE) selftests-on KERNEL=$$kernel \
	  TESTS="$(or $(TESTS),$(DEBIAN_TESTS))" || status=1; \
	$(if $(TESTS),,FILTER="$(DEBIAN_CLIENT)" $(SUBMAKE) selftests-on \
	  KERNEL=$$kernel TESTS=wire_client.sh || status=1;) exit $$status

# All on Debian's kernel, whatever it takes.
selftests-debian-full:
	+@kernel="$$($(choose) debian)" || exit; \
	$(SUBMAKE) selftests-on KERNEL=$$kernel FULL=1

# All on the checking kernel of QEMU, which has several processors.
selftests-debug:
	+@kernel="$$($(choose) cpus)" || exit; \
	$(SUBMAKE) selftests-on KERNEL=$$kernel FULL=1

# What check runs, and with FULL=1 what takes long as well.
selftests-6.1:
	+@$(SUBMAKE) selftests-on KERNEL=stock-6.1

# Those in which something is left to chance.
SOAK_TESTS	?= data.sh load.sh recovery.sh life.sh storm.sh faults.sh
selftests-soak:
	+@SEED=$(or $(SEED),$$(date +%s)) $(SUBMAKE) selftests FULL=1 \
	  TESTS="$(SOAK_TESTS)"

# Storms that a seed decides, in virtual time: SEEDS= so many from FIRST=, or SEED="3 17".
# REPLAY=1: each twice. PLANT=data, PLANT=silence: each with a fault, twice.
STORM	= $(if $(SEED),--seed $(SEED)) $(if $(FIRST),--from $(FIRST)) \
	$(if $(SEEDS),--count $(SEEDS)) $(if $(REPLAY),--replay) $(if $(PLANT),--plant $(PLANT:1=data))
storm:
	+@if kernel="$$(GUEST=uml $(choose) checks)"; then \
	  $(SUBMAKE) stage KERNEL=$$kernel && $(call alone,clock) && \
	  KERNEL=$$kernel scripts/storm --jobs $(or $(JOBS),$(shell nproc)) $(STORM); \
	else echo "ok 1 - storm # SKIP no user-mode Linux"; fi

# Other seeds each time, until one fails.
storm-soak:
	+@$(SUBMAKE) storm STORM="--from $$(date +%s) --minutes $(or $(STORM_MINUTES),30)"

# The virtual time of guests that are processes.
clock:
	+@$(SUBMAKE) -C tools/testing/clock check

# Tests of the test harness itself.
harness:
	+@kernels="$(or $(CHECK_KERNEL),$$($(choose) checks cpus))" || exit; \
	for kernel in $$kernels; do $(SUBMAKE) stage KERNEL=$$kernel || exit; done; \
	$(call alone,clock) && tools/testing/guest/selftest $$kernels

harness-full:
	+@$(SUBMAKE) harness FULL=1

style:
	@scripts/style $(STYLE_KERNEL)

style-full:
	+@$(SUBMAKE) style FULL=1

# Every normative sentence of the drafts, where it is honoured, and its test.
# DRAFTS is where the drafts are, to be compared with.
DRAFTS	?= $(firstword $(wildcard ../*/spec))
conformance:
	@tools/testing/conformance/selftest
	@scripts/conformance $(if $(DRAFTS),--drafts $(DRAFTS))

# The codec against the XDR of the draft, which is in DRAFTS too.
codec:
	+@$(SUBMAKE) -C tools/testing/codec check DRAFTS=$(abspath $(DRAFTS))

# Each target for FUZZ_SECONDS, 30 if not said otherwise.
fuzz:
	+@$(SUBMAKE) -C tools/testing/fuzz check

# What of core/ all of these reach.
coverage:
	+@$(SUBMAKE) -C tools/testing/coverage check

# What chance has a part in runs longer in check-full, and in soak as long as you like.
# Two parts at a time: in one there are guests, which wait for each other now and then.
check:
	@FUZZ_SECONDS=$(or $(FUZZ_SECONDS),8) SIM_SECONDS=$(or $(SIM_SECONDS),20) \
	  SANITIZED_SEEDS=$(or $(SANITIZED_SEEDS),5000) scripts/tally --jobs 2 \
	  unit codec conformance style fuzz sim clock selftests selftests-debian kunit harness

check-full:
	@FUZZ_SECONDS=$(or $(FUZZ_SECONDS),60) SIM_SECONDS=$(or $(SIM_SECONDS),300) \
	  scripts/tally style-full unit codec fuzz sim clock coverage harness-full conformance \
	  kunit storm selftests-full selftests-debian-full selftests-6.1 selftests-debug \
	  packaging interfaces

# What the module uses of the kernel, in the newest source that Debian has. Fails if there
# is a difference that Documentation/interfaces/accepted does not have.
interfaces:
	+@tools/testing/interfaces/selftest
	@scripts/interfaces check

# What users get: a tarball of HEAD in DIST=, and from it a Debian package.
VERSION	:= $(shell sed -n 's/.*RPCRDMA_VERSION[[:space:]]*"\(.*\)"/\1/p' \
		net/sunrpc/rpcrdma/module.h)
DIST	?= build/dist
dist:
	@mkdir -p $(DIST)
	@git archive --prefix=rpcrdma-$(VERSION)/ -o $(DIST)/rpcrdma-$(VERSION).tar.gz HEAD
	@echo $(DIST)/rpcrdma-$(VERSION).tar.gz

packaging:
	@tools/testing/packaging

# What chance has a part in, over and over, until something fails, Ctrl-C, or, if
# there is MINUTES=, that has passed at the end of a round.
soak:
	@FUZZ_SECONDS=$(or $(FUZZ_SECONDS),300) \
	  scripts/tally --minutes $(or $(MINUTES),inf) fuzz sim-soak storm-soak selftests-soak

demo:
	@scripts/demo

help:
	@echo 'Build'
	@echo '  modules          rpcrdma.ko for the running kernel, KDIR= or KERNEL= (default)'
	@echo '  modules_install  install it under updates/, honouring INSTALL_MOD_PATH'
	@echo '  stage            build it for KERNEL= and prepare what a guest loads'
	@echo '  dist             a tarball to build packages from, for dkms or Debian'
	@echo '  clean            remove what was built here; distclean: the kernel cache too'
	@echo 'Test'
	@echo '  check            all of the next eleven; last line: the count'
	@echo '  style            checkpatch, sparse, clang-tidy, cppcheck, shellcheck, ...'
	@echo '  unit             user-space tests of the protocol core'
	@echo '  codec            its headers against the XDR in the draft, if there is DRAFTS='
	@echo '  fuzz             what a peer can send, by chance: FUZZ_SECONDS=30 for each kind'
	@echo '  sim              two endpoints of the core over a simulated fabric, for'
	@echo '                   SIM_SECONDS=120 from SEED=1, and bugs that it has to find'
	@echo '  clock            tests of the virtual time that guests can have'
	@echo '  harness          tests of the test harness itself'
	@echo '  conformance      Documentation/conformance against code, tests and DRAFTS='
	@echo '  kunit            tests inside the kernel, on the checking kernels'
	@echo '  selftests        NFS in guests of the kind that is fastest here, JOBS= at a'
	@echo '                   time; TESTS="mount.sh ..." picks, INTREE=both tests the'
	@echo '                   kernel'"'"'s own transport, KERNEL= another kernel'
	@echo '  selftests-debian what proves that Debian'"'"'s own kernel serves and mounts'
	@echo '  check-full       check with style-full, coverage, storm, packaging, interfaces and'
	@echo '                   self-tests:'
	@echo '                   selftests-full, -debian-full, -6.1, -debug'
	@echo '  style-full       style with clang-tidy for the C++ of the tests'
	@echo '  selftests-full   those that take long, too'
	@echo '  selftests-debian-full  the same on Debian'"'"'s kernel'
	@echo '  selftests-6.1    those of check on the kernel of Debian 12; FULL=1: all'
	@echo '  selftests-debug  all on the checking kernel of QEMU'
	@echo '  storm            what a seed decides to happen to two mounts and their server, in'
	@echo '                   virtual time: SEEDS=100 from FIRST=1, or SEED="3 17"; REPLAY=1:'
	@echo '                   each twice, the same; PLANT=1: each with a fault to find'
	@echo '  coverage         what of the core the tests in user space reach'
	@echo '  soak             fuzz, sim-soak, storm-soak and selftests-soak, what chance has a'
	@echo '                   part in, round by round, until it is stopped or MINUTES= are'
	@echo '                   over; FUZZ_SECONDS=300, SIM_SECONDS=1800 and STORM_MINUTES=30'
	@echo '                   of each round'
	@echo '  packaging        tarball, Debian package, dkms on every supported kernel'
	@echo '  interfaces       what the module uses of the kernel, and whether the newest kernel'
	@echo '                   in Debian has something of that otherwise'
	@echo '  demo             show it working'
	@echo 'Set-up'
	@echo '  deps             install the Debian packages that all of this needs'
	@echo
	@echo 'GUEST=qemu or GUEST=uml settles what kind of guest is used, else the fastest is.'
	@echo 'KERNEL is a name that scripts/kernel --help explains.'
	@echo 'Kernels are cached in $${RPCRDMA_CACHE:-~/.cache/rpcrdma}.'
