# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# 'make help' lists the targets. Kbuild describes the module itself.

KVER	?= $(shell uname -r)
# A kernel that scripts/kernel knows: stock-6.12, debug-6.12, uml-6.12, and so on; or a
# line of kernels, such as 6.1, 6.12 or 7.3: then the module is built for Debian's kernel
# of that line, and each test chooses a kernel of that line. Without KERNEL, the module is
# built for the running kernel or for KDIR, and tests run on 6.12.
KERNEL	?=
LINE	:= $(lastword $(subst -, ,$(or $(KERNEL),6.12)))
# What scripts/tally gives to each make that it runs. Such a make sees no other command line,
# and make does not export a variable that was set with override.
ASKED	:= $(if $(KERNEL),KERNEL=$(KERNEL))
# RESUME=1: not what has passed with the same tree. 'run' of the self-tests sees it, too.
RESUMED	:= $(if $(RESUME),--resume)
ifeq ($(KERNEL),$(LINE))
override KERNEL := stock-$(LINE)
else
TEST_KERNEL	?= $(KERNEL)
CHECK_KERNEL	?= $(filter debug-% kasan-% kcsan-% uml-debug-%,$(KERNEL))
endif
ifneq ($(KERNEL),)
# Asked once, by who needs it.
ABOUT	= $(eval ABOUT := $$(shell scripts/kernel path $(KERNEL) --kdir --arch --make))$(ABOUT)
KDIR	?= $(word 1,$(ABOUT))
LABEL	:= $(KERNEL)
KBUILD_ARCH = ARCH=$(word 2,$(ABOUT))
KMAKE	= $(patsubst make,$(MAKE),$(wordlist 3,9,$(ABOUT)))
else
KMAKE	:= $(MAKE)
KDIR	?= /lib/modules/$(KVER)/build
LABEL	:= $(notdir $(patsubst %/build,%,$(KDIR)))
endif

# kbuild leaves its objects beside the sources, so each kernel gets a copy of the
# sources to build in. KEEP are kbuild's own files in the copy.
MIRROR	:= build/$(LABEL)/src
STAGE	:= build/$(LABEL)/stage
EXTENDED := build/$(LABEL)/extended
SOURCES	:= $(wildcard Kbuild include net $(if $(findstring command,$(origin RPCRDMA_EXTENSIONS)),$\
	   $(dir $(RPCRDMA_EXTENSIONS)),tools/testing/kunit))
KEEP	:= *.o *.ko *.a *.d *.mod *.mod.c .*.cmd Module.symvers modules.order
# 6.1 leaves UBSAN out of a directory that does not ask for it.
UBSAN	:= $(if $(findstring debug,$(LABEL))$(findstring kasan,$(LABEL)),UBSAN_SANITIZE=y)
KBUILD	= $(KMAKE) --no-print-directory -C $(KDIR) M=$(or $(PLACE),$(CURDIR))/$(MIRROR) \
	  $(KBUILD_ARCH) $(UBSAN)

# Kernels that the tests boot; if empty, 'choose' finds the fastest here. 'style' uses
# headers and checkpatch of STYLE_KERNEL.
TEST_KERNEL	?=
CHECK_KERNEL	?=
STYLE_KERNEL	?= kasan-6.12
choose		= tools/testing/guest/choose --line $(LINE)
SUBMAKE		= $(MAKE) --no-print-directory
# $$kernels are those in (1), or what 'choose' finds for the needs in (2). It says which kind of
# guest each is, and which of the needs are skipped because there is none for them, and why; the
# target ends well if all are.
find_kernels	= kernels="$$($(choose) --skip $@ $(or $(addprefix --kernel ,$(1)),$(2)))" || \
		  { [ $$? = 4 ]; exit; }
# Several parts of 'check' build programs for the guests: the second one waits.
alone		= (mkdir -p build && exec 7> build/$(notdir $(1)).lock && flock 7 && \
		   $(SUBMAKE) -C $(1))

.DEFAULT_GOAL := modules
.PHONY: all modules modules_install stage stage-anew extended extended-anew kernels clean distclean help kdir deps \
	unit instructions sim sim-soak kunit kunit-on selftests selftests-on selftests-full \
	selftests-debian selftests-debian-full selftests-debug selftests-smp selftests-rtrext \
	selftests-siw selftests-kcsan kunit-kcsan kunit-debug selftests-uml selftests-6.1 kunit-6.1 \
	kunit-7.3 selftests-7.3 selftests-debian-7.3 selftests-debian-6.1 \
	matrix-6.1 matrix-7.3 matrix-trixie host-trixie \
	selftests-soak storm storm-full storm-soak harness harness-full style style-full conformance codec fuzz \
	tools tools-check tools-install wireshark clock coverage hostauth check check-full soak demo demo-check bench dist packaging \
	interfaces

all: modules

kdir:
	@test -n "$(KDIR)" -a -e "$(KDIR)/Makefile" || { \
	  echo "No kernel build directory '$(KDIR)'." >&2; \
	  echo "Install linux-headers-$(KVER), or name another kernel:" >&2; \
	  echo "  make KDIR=<build directory>    or    make KERNEL=stock-6.12" >&2; \
	  exit 1; }

ifeq ($(if $(KERNEL),,no)$(PLACE),)
# For guests, with what compilers have done before.
modules modules_install:
	+@scripts/place $(SUBMAKE) $@ KERNEL=$(KERNEL)
else
# One build at a time for each kernel: the second one waits. What is copied gets the time of
# the copy. With its own time, a file that was edited while the last build ran would look
# older than what that build made of the text before.
modules: kdir
	@command -v rsync > /dev/null || { echo "Install rsync." >&2; exit 1; }
	@mkdir -p $(MIRROR)
	+@exec 9> $(MIRROR).lock && flock 9 && \
	  rsync -rlpc -R --delete $(foreach pattern,$(KEEP),--exclude='$(pattern)') \
	    $(SOURCES) $(MIRROR)/ && \
	  $(KBUILD) modules

# Like the kernel's own target, with INSTALL_MOD_PATH; into updates/, where depmod looks
# first. DEPMOD=true leaves depmod to a package's scripts. kbuild's own depmod needs a
# System.map, which headers lack; and kbuild wants to sign, which needs a key. In Debian's
# headers of 6.1 kernel.release is not the release.
DEPMOD	?= depmod
modules_install: modules
	+@$(KBUILD) modules_install INSTALL_MOD_DIR=updates DEPMOD=true \
	  $(if $(wildcard $(KDIR)/certs/signing_key.pem),,CONFIG_MODULE_SIG_ALL=)
	@$(DEPMOD) $(if $(INSTALL_MOD_PATH),-b $(INSTALL_MOD_PATH)) \
	  "$$(sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h)"
endif

# No debug data and no compression, because a guest would have to unpack them.
FOR_GUESTS = $(SUBMAKE) modules_install KERNEL=$(KERNEL) DEPMOD=true INSTALL_MOD_STRIP=1 \
	     CONFIG_MODULE_COMPRESS_XZ=

# A build that has nothing to do takes seconds. It is not begun if all that it reads is as it was,
# and so is what it made, to the octet: what decides besides sources is which kernel and compiler.
unless_made = scripts/made $(1).made --of $(SOURCES) $(2) Makefile scripts/kernel scripts/place \
	      scripts/debian $(KDIR)/Module.symvers $(KDIR)/include/config/auto.conf \
	      --with "$(KDIR) $$(gcc --version; g++ --version; ld --version)" --makes $(3) -- \
	      $(SUBMAKE) $@-anew KERNEL=$(KERNEL)

# The /lib/modules of a guest that boots KERNEL. Only changed files are replaced: a guest
# may be using them. One at a time for each kernel.
stage:
	@test -n "$(KERNEL)" || { echo "make stage needs KERNEL=" >&2; exit 1; }
	@mkdir -p $(STAGE)
	+@exec 8> $(STAGE).lock && flock 8 && $(call unless_made,$(STAGE),,$(STAGE))

stage-anew:
	+@rm -rf $(STAGE).new && \
	  $(FOR_GUESTS) INSTALL_MOD_PATH=$(CURDIR)/$(STAGE).new && \
	  (cd $(STAGE).new && rsync -rpcR --delete ./lib/modules/*/updates ../stage/) && \
	  scripts/kernel stage $(KERNEL) $(STAGE)

# The module with one more extension, which only tests have; for guests that boot KERNEL.
# wire_ping.sh inserts it by its path. It is beside what is staged, not in it: it has the names
# and aliases of the module that users get.
extended:
	@test -n "$(KERNEL)" || { echo "make extended needs KERNEL=" >&2; exit 1; }
	@mkdir -p $(EXTENDED)
	+@exec 8> $(EXTENDED).lock && flock 8 && \
	  $(call unless_made,$(EXTENDED),tools/testing/extension,$(EXTENDED)/lib)

extended-anew:
	+@$(FOR_GUESTS) INSTALL_MOD_PATH=$(CURDIR)/$(EXTENDED) MIRROR=$(EXTENDED)/src \
	  RPCRDMA_EXTENSIONS=tools/testing/extension/extensions.h

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

# The core takes no more of them for an NFS operation than it may.
instructions:
	+@$(SUBMAKE) -C tools/testing/instructions check

# The simulator: SEED= where to begin, SIM_SECONDS= how long.
sim:
	+@$(SUBMAKE) -C tools/testing/sim check

# The same with new seeds each time, and for longer.
sim-soak:
	+@AGAIN=1 $(SUBMAKE) -C tools/testing/sim check SEED=$$(date +%s)000000 \
	  SIM_SECONDS=$(or $(SIM_SECONDS),1800)

# On the fastest checking kernel, and on one with several processors. With -j2 at the same time: the
# first one mostly waits.
kunit:
	+@$(call find_kernels,$(CHECK_KERNEL),checks kunit); \
	$(SUBMAKE) -Otarget $$(printf 'kunit-on-%s ' $$kernels)

kunit-on-%:
	+@$(SUBMAKE) kunit-on KERNEL=$*

# With several processors and all checkers, however slow they are there.
kunit-debug:
	+@$(call find_kernels,,cpus); $(SUBMAKE) kunit-on KERNEL=$$kernels

kunit-on: stage
	@tools/testing/guest/guest --kernel $(KERNEL) tools/testing/guest/kunit

# INTREE=both (or server, client) runs the kernel's own transport instead.
selftests:
	+@$(call find_kernels,$(TEST_KERNEL),selftests); \
	case $$kernels in *debug*) export MOST=1 ;; esac; \
	$(SUBMAKE) selftests-on KERNEL=$$kernels

# What is kept of programs that passed is kept with the tree of before the build.
ifneq ($(filter selftests-on,$(MAKECMDGOALS)),)
export BUILT_OF := $(shell scripts/passed.py)
endif
selftests-on: $(if $(filter both,$(INTREE)),,stage) $(if $(INTREE),,$(if $(if $(TESTS),$\
		$(filter %wire_ping.sh,$(TESTS)),$(MOST)$(FULL)),extended))
	+@$(call alone,tools/testing/peer)
	+@$(call alone,tools/rpcrdmactl)
	$(if $(filter uml%,$(KERNEL)),+@$(call alone,tools/testing/clock))
	+@$(SUBMAKE) -C tools/testing/selftests/rpcrdma run_tests \
	  KERNEL=$(KERNEL) TESTS="$(TESTS)" FULL=$(FULL) \
	  JOBS=$(JOBS)

selftests-full:
	+@$(SUBMAKE) selftests FULL=1

# The tests that Debian's own kernel serves and mounts. Of wire_client.sh only tests that
# wait for no time-outs, which take minutes without virtual time; of wire_server.sh those in which
# nfsd, sunrpc and RDMA of that kernel have most to do.
# One processor: with two, QEMU's emulation sometimes executes the breakpoint of a static
# branch that has already been changed ("Oops: int3").
DEBIAN_TESTS	?= mount.sh data.sh contract.sh wire_server.sh wire_client.sh
DEBIAN_CLIENT	?= client_mount.*:client_header.*:client_continued.*:client_reply.*:$\
		   client_credits.*:client_callback.*:client_invalidation.*:client_reverse.*
DEBIAN_SERVER	?= server_*chunk.*:server_continued.*:server_credits.*:server_callback.answered:$\
		   server_header.*:server_invalidation.*:server_rdma_error.*:server_version1.*
selftests-debian:
	+@$(call find_kernels,,debian); export CPUS=$(or $(CPUS),1); \
	$(if $(TESTS),,CLIENT_FILTER="$(DEBIAN_CLIENT)" SERVER_FILTER="$(DEBIAN_SERVER)") \
	$(SUBMAKE) selftests-on KERNEL=$$kernels TESTS="$(or $(TESTS),$(DEBIAN_TESTS))"

# All on Debian's kernel, even if it takes hours.
selftests-debian-full:
	+@$(call find_kernels,,debian); \
	$(SUBMAKE) selftests-on KERNEL=$$kernels FULL=1

# All on the checking kernel of QEMU, where guests of a pair have one processor each.
selftests-debug:
	+@$(call find_kernels,,cpus); \
	$(SUBMAKE) selftests-on KERNEL=$$kernels FULL=1

# Over siw, where all Sends are signaled, and the side that connects has to send first.
SIW_TESTS	?= data.sh load.sh recovery.sh window.sh blackout.sh many.sh
selftests-siw:
	+@$(call find_kernels,$(TEST_KERNEL),selftests); \
	PROVIDER=siw $(SUBMAKE) selftests-on KERNEL=$$kernels TESTS="$(or $(TESTS),$(SIW_TESTS))"

# With two processors in each guest, those that do many things at a time.
SMP_TESTS	?= data.sh load.sh recovery.sh busy.sh signals.sh many.sh
selftests-smp:
	+@$(call find_kernels,,cpus); \
	CPUS=2 $(SUBMAKE) selftests-on KERNEL=$$kernels TESTS="$(or $(TESTS),$(SMP_TESTS))"

# Tests with rtrext at both ends, some of them with memory offered in directions, and some with it
# at one end. rtrext.sh and distance.sh turn it on themselves.
RTREXT_TESTS	?= data.sh versions.sh load.sh recovery.sh delegation.sh life.sh remount.sh transports.sh \
		   many.sh signals.sh busy.sh keepalive.sh krb5.sh siw.sh crowd.sh storm.sh
RTREXT_OFFERS	?= data.sh load.sh recovery.sh signals.sh
RTREXT_ONE_END	?= data.sh load.sh recovery.sh
selftests-rtrext:
	+@$(call find_kernels,$(TEST_KERNEL),selftests); status=0; \
	PARAMETERS=rtrext=1 $(SUBMAKE) selftests-on KERNEL=$$kernels \
	  TESTS="$(or $(TESTS),$(RTREXT_TESTS))" || status=1; \
	PARAMETERS="rtrext=1 rtrext_offer=2" $(SUBMAKE) selftests-on KERNEL=$$kernels \
	  TESTS="$(RTREXT_OFFERS)" || status=1; \
	for end in CLIENT SERVER; do \
	  env $${end}_PARAMETERS=rtrext=1 $(SUBMAKE) selftests-on KERNEL=$$kernels \
	    TESTS="$(RTREXT_ONE_END)" || status=1; \
	done; exit $$status

# Data races: those that do many things at a time, on the kernel that finds these, with two
# processors in each guest. Of such kernels there is one line.
KCSAN_TESTS	?= data.sh load.sh recovery.sh many.sh
selftests-kcsan:
	+@$(call find_kernels,,races); \
	CPUS=2 SLOW=$(or $(SLOW),2) $(SUBMAKE) selftests-on KERNEL=$$kernels \
	  TESTS="$(or $(TESTS),$(KCSAN_TESTS))"

kunit-kcsan:
	+@$(call find_kernels,,races); $(SUBMAKE) kunit-on KERNEL=$$kernels

# User-mode Linux as 'bench' and 'demo' use it: without what finds bugs, so it is faster, and other
# things happen at once.
UML_TESTS	?= mount.sh data.sh load.sh recovery.sh
selftests-uml:
	+@$(call find_kernels,,plain); \
	$(SUBMAKE) selftests-on KERNEL=$$kernels TESTS="$(or $(TESTS),$(UML_TESTS))"

# The first list of the self-tests; FULL=1: all.
selftests-6.1:
	+@$(call find_kernels,stock-6.1); $(SUBMAKE) selftests-on KERNEL=$$kernels

# What 'check' runs with KERNEL=6.1 and KERNEL=7.3, and all of wire_server.sh.
kunit-6.1 selftests-debian-6.1:
	+@$(SUBMAKE) $(@:-6.1=) KERNEL=6.1 DEBIAN_SERVER='server_*'

kunit-7.3 selftests-7.3 selftests-debian-7.3:
	+@$(SUBMAKE) $(@:-7.3=) KERNEL=7.3 DEBIAN_SERVER='server_*'

# On Debian's other kernels: the module comes and goes, and it serves and mounts the kernel's own
# transport of each line. Of the two guests of a pair, with a processor each, one mostly waits for the
# other.
matrix-6.1 matrix-7.3:
	+@$(call find_kernels,stock-$(@:matrix-%=%)); \
	CPUS=1 PAIRS=$(or $(PAIRS),$(shell nproc)) $(SUBMAKE) selftests-on KERNEL=$$kernels FULL=1 \
	  TESTS="$(or $(TESTS),upgrade.sh interop.sh)"

matrix-trixie:
	+@$(call find_kernels,stock-6.12.trixie); CPUS=1 $(SUBMAKE) selftests-on KERNEL=$$kernels \
	  TESTS="$(or $(TESTS),mount.sh data.sh upgrade.sh)"

# The two commands of README.md on Debian 13.
host-trixie:
	@$(if $(DRAFTS),DRAFTS=$(abspath $(DRAFTS))) tools/testing/host-trixie

# The self-tests with random choices.
SOAK_TESTS	?= data.sh load.sh recovery.sh life.sh storm.sh faults.sh
selftests-soak:
	+@SEED=$(or $(SEED),$$(date +%s)) $(SUBMAKE) selftests FULL=1 \
	  TESTS="$(SOAK_TESTS)"

# Storms by seed, in virtual time: SEEDS= is their number from FIRST= on, or SEED="3 17".
# REPLAY=1: each twice. PLANT=data, PLANT=silence: each with a fault, twice.
STORM	= $(if $(SEED),--seed $(SEED)) $(if $(FIRST),--from $(FIRST)) \
	$(if $(SEEDS),--count $(SEEDS)) $(if $(REPLAY),--replay) $(if $(PLANT),--plant $(PLANT:1=data))
storm:
	+@$(call find_kernels,,virtual); \
	$(SUBMAKE) stage KERNEL=$$kernels && $(call alone,tools/testing/clock) && \
	KERNEL=$$kernels scripts/storm --jobs $(or $(JOBS),$(shell nproc)) $(STORM)

# In 25 seeds devices go, servers die, and memory is refused. 1054 found that siw spoils data; in 2010
# and 2016 all memory is refused while a server dies or begins again.
storm-full: storm
	+@$(SUBMAKE) storm STORM="--from 100 --count 25"
	+@$(SUBMAKE) storm SEED="1054 2010 2016"

# New seeds each time, until one fails.
storm-soak:
	+@$(SUBMAKE) storm STORM="--from $$(date +%s) --minutes $(or $(STORM_MINUTES),30)"

# Tests of the virtual time of user-mode Linux.
clock:
	+@$(SUBMAKE) -C tools/testing/clock check

# Tests of the test harness itself.
harness:
	+@$(call find_kernels,$(CHECK_KERNEL),checks $(if $(FULL),kunit cpus races)); \
	for kernel in $$kernels; do $(SUBMAKE) stage KERNEL=$$kernel || exit; done; \
	$(call alone,tools/testing/clock) && tools/testing/guest/selftest $$kernels

harness-full:
	+@$(SUBMAKE) harness FULL=1

style:
	@scripts/style $(STYLE_KERNEL)

style-full:
	+@$(SUBMAKE) style FULL=1 STYLE_KERNEL=debug-6.12

# Every normative sentence of the drafts has code and a test. DRAFTS is the directory of
# the drafts.
DRAFTS	?= $(firstword $(wildcard ../*/spec))
conformance:
	@tools/testing/conformance/selftest
	@scripts/conformance $(if $(DRAFTS),--drafts $(DRAFTS))

# The codec against the XDR of the draft in DRAFTS.
codec:
	+@$(SUBMAKE) -C tools/testing/codec check DRAFTS=$(abspath $(DRAFTS))

# Each target for FUZZ_SECONDS, default 30.
fuzz:
	+@$(SUBMAKE) -C tools/testing/fuzz check

# The program for people who run it, and its tests; and those of the dashboard and of the netlink
# family.
tools:
	+@$(SUBMAKE) -C tools/rpcrdmactl all

tools-check:
	+@$(SUBMAKE) -C tools/rpcrdmactl check
	+@$(SUBMAKE) -C tools/monitoring check
	@tools/testing/netlink/check
	@tools/testing/bench/selftest

tools-install:
	+@$(SUBMAKE) -C tools/rpcrdmactl install
	+@$(SUBMAKE) -C tools/wireshark install
	+@$(SUBMAKE) -C tools/monitoring install

# Wireshark's dissector: what it shows of captures, MUTATIONS= broken ones of each from SEED=.
wireshark:
	+@$(SUBMAKE) -C tools/testing/wireshark check

# The protocol of host authentication, searched exhaustively by Spin. FULL=1: for longer.
hostauth:
	+@$(SUBMAKE) -C tools/testing/hostauth check

# How much of core/ all of these reach.
coverage:
	+@$(SUBMAKE) -C tools/testing/coverage check

# Tests with random choices run longer in check-full, and as long as you like in soak.
# Two parts with guests at a time: a part sometimes waits. Those without take what is left of the
# processors; not fuzz, which has so many seconds. kunit comes late: its emulated guest has several
# processors, and can use those that nobody else needs any more.
# First of all kernels are fetched and built that are not there yet, with all processors: the parts
# wait for them, and would be in their way.
CHECK_BESIDE	= unit,instructions,codec,tools-check,wireshark,conformance,style,clock,docs-check,sim
check:
	@FUZZ_SECONDS=$(or $(FUZZ_SECONDS),2) SIM_SECONDS=$(or $(SIM_SECONDS),10) \
	  SANITIZED_SEEDS=$(or $(SANITIZED_SEEDS),3000) scripts/tally --first kernels --jobs 2 \
	  --beside $(CHECK_BESIDE) $(RESUMED) $(ASKED) selftests harness selftests-debian kunit fuzz

kernels:
	+@kernels="$$($(choose) --skip $@ $(addprefix --kernel ,$(TEST_KERNEL) $(CHECK_KERNEL)) \
	  $(if $(TEST_KERNEL),,selftests) $(if $(CHECK_KERNEL),,checks kunit) debian)" || \
	  { [ $$? = 4 ]; exit; }; scripts/kernel fetch $(STYLE_KERNEL) && \
	  printf 'ok - kernel %s\n' $$kernels

check-full:
	@FUZZ_SECONDS=$(or $(FUZZ_SECONDS),60) SIM_SECONDS=$(or $(SIM_SECONDS),300) \
	  AGAIN=1 SEARCH_LONG=1 scripts/tally --jobs 2 $(RESUMED) $(ASKED) style-full unit instructions codec tools-check wireshark hostauth fuzz sim clock coverage harness-full conformance \
	  kunit kunit-debug storm-full selftests-full selftests-rtrext selftests-siw selftests-debian-full selftests-6.1 \
	  selftests-debug selftests-smp selftests-uml kunit-kcsan selftests-kcsan \
	  kunit-6.1 selftests-debian-6.1 matrix-6.1 \
	  kunit-7.3 selftests-7.3 selftests-debian-7.3 matrix-7.3 matrix-trixie host-trixie \
	  packaging interfaces demo-check docs-check

# Compares what the module uses of 6.12 with the newest source in Debian. Fails for a
# difference that Documentation/interfaces/accepted does not list.
interfaces:
	+@tools/testing/interfaces/selftest
	@scripts/interfaces check

.PHONY: docs docs-check

# HTML and manual pages in build/docs. A warning is an error; -E, since what Sphinx remembers
# of a page gives no warning again. Debian's Sphinx, whatever other Python there is.
SPHINX	= /usr/bin/python3 -m sphinx -q -W --keep-going -n -d build/docs/doctrees
docs:
	@/usr/bin/python3 -c 'import sphinx' && command -v dot > /dev/null && \
	  command -v groff > /dev/null || { \
	  echo "make docs needs Debian's python3-sphinx, graphviz and groff-base: make deps" >&2; \
	  exit 1; }
	+@$(SUBMAKE) build/docs/rpcrdmactl.txt
	@$(SPHINX) -E -b html Documentation build/docs/html
	@$(SPHINX) -b man Documentation build/docs/man
	@cp tools/rpcrdmactl/rpcrdmactl.8 build/docs/man/

# A page includes it.
build/docs/rpcrdmactl.txt: tools/rpcrdmactl/rpcrdmactl.8
	@mkdir -p $(@D)
	@groff -man -Tutf8 -rHY=0 -dAD=l -rLL=90n -P-cbou $< > $@.new && mv $@.new $@

# The documentation against the code.
docs-check:
	+@$(call alone,tools/rpcrdmactl)
	+@tools/testing/docs/check

# The release: a tarball of HEAD in DIST=; a Debian package can be built from it.
VERSION	:= $(shell sed -n 's/.*RPCRDMA_VERSION[[:space:]]*"\(.*\)"/\1/p' \
		net/sunrpc/rpcrdma/module.h)
DIST	?= build/dist
dist:
	@mkdir -p $(DIST)
	@git archive --prefix=rpcrdma-$(VERSION)/ -o $(DIST)/rpcrdma-$(VERSION).tar.gz HEAD
	@echo $(DIST)/rpcrdma-$(VERSION).tar.gz

packaging:
	@tools/testing/packaging

# Tests with random choices, again and again, until something fails, until Ctrl-C, or
# until the end of the round in which MINUTES= pass.
soak:
	@FUZZ_SECONDS=$(or $(FUZZ_SECONDS),300) AGAIN=1 \
	  scripts/tally --minutes $(or $(MINUTES),inf) $(ASKED) fuzz sim-soak storm-soak selftests-soak

# FILES= of the more than 5,000.
demo:
	@scripts/demo $(if $(FILES),--files $(FILES))

demo-check:
	@tools/testing/demo

# Beside the kernel's own transport and TCP: PART="core counts latency memory", FULL=1 for all.
bench:
	+@tools/testing/bench/bench $(PART)

help:
	@echo 'Build'
	@echo '  modules          rpcrdma.ko for the running kernel, KDIR= or KERNEL= (default)'
	@echo '  modules_install  install it under updates/, honouring INSTALL_MOD_PATH'
	@echo '  stage            build it for KERNEL= and prepare what a guest loads'
	@echo '  extended         a module with an extension that only tests have, for wire_ping.sh'
	@echo '  tools            build/tools/rpcrdmactl, which shows what the module does'
	@echo '  tools-install    it, the dissector for Wireshark, dashboard and units for monitoring'
	@echo '  docs             HTML and manual pages in build/docs'
	@echo '  dist             a tarball to build packages from, for dkms or Debian'
	@echo '  clean            remove all build results; distclean: the kernel cache too'
	@echo 'Test'
	@echo '  check            all of the next fifteen; last line: the count'
	@echo '  style            checkpatch, sparse, clang-tidy, cppcheck, shellcheck, ...'
	@echo '  unit             user-space tests of the protocol core'
	@echo '  instructions     what the core takes of them for an NFS operation, by valgrind'
	@echo '  codec            its headers against the XDR in the draft, if DRAFTS= has it'
	@echo '  tools-check      tests of rpcrdmactl, of the dashboard and of the netlink family'
	@echo '  wireshark        what its dissector shows of captures, MUTATIONS=20 broken ones of each'
	@echo '  fuzz             random input from a peer: FUZZ_SECONDS=30 for each kind'
	@echo '  sim              endpoints of the core over a simulated fabric, for'
	@echo '                   SIM_SECONDS=120 from SEED=1, and bugs that it must find'
	@echo '  clock            tests of the virtual time of guests'
	@echo '  harness          tests of the test harness itself'
	@echo '  docs-check       the documentation against the code'
	@echo '  conformance      Documentation/conformance against code, tests and DRAFTS='
	@echo '  kunit            tests inside the kernel, on the checking kernels'
	@echo '  selftests        NFS in guests of the fastest kind here, JOBS= at a time;'
	@echo '                   TESTS="mount.sh ..." picks tests, INTREE=both tests the'
	@echo '                   kernel'"'"'s own transport, KERNEL= another kernel'
	@echo '  selftests-debian tests that Debian'"'"'s own kernel serves and mounts'
	@echo '  check-full       check with style-full, harness-full, coverage, hostauth, storm-full, packaging,'
	@echo '                   interfaces, demo-check, and self-tests:'
	@echo '                   selftests-full, -rtrext, -siw, -debian-full, -6.1, -debug, -smp, -uml, -kcsan,'
	@echo '                   -7.3; and kunit-debug, kunit-kcsan, kunit-6.1, kunit-7.3,'
	@echo '                   selftests-debian-6.1, selftests-debian-7.3,'
	@echo '                   matrix-6.1, matrix-7.3, matrix-trixie, host-trixie. RESUME=1:'
	@echo '                   not again what has passed with the same tree: parts, and programs'
	@echo '                   of the self-tests; for selftests, too'
	@echo '  style-full       style with clang-tidy for the C++ of the tests'
	@echo '  hostauth         the protocol of host authentication, searched by Spin; FULL=1: more'
	@echo '  harness-full     harness with every check on every kind of guest'
	@echo '  selftests-full   selftests with the tests that take long'
	@echo '  selftests-debian-full  the same on Debian'"'"'s kernel'
	@echo '  selftests-6.1    thirteen self-tests on the kernel of Debian 12; FULL=1: all'
	@echo '  kunit-6.1        kunit with KERNEL=6.1'
	@echo '  kunit-debug      kunit under QEMU with all checkers'
	@echo '  selftests-debug  all on the checking kernel of QEMU'
	@echo '  selftests-siw    six self-tests over siw'
	@echo '  selftests-smp    six self-tests there, with two processors in each guest'
	@echo '  selftests-kcsan  four self-tests on the kernel that finds data races, with two processors'
	@echo '                   in each guest; kunit-kcsan: kunit there'
	@echo '  selftests-uml    four self-tests on user-mode Linux without checks, as bench uses it'
	@echo '  selftests-rtrext those that do not count how data travels, with groups of Sends'
	@echo '  selftests-7.3    selftests with KERNEL=7.3; kunit-7.3, selftests-debian-7.3 likewise,'
	@echo '                   and selftests-debian-6.1'
	@echo '  matrix-6.1       on the kernel of Debian 12: upgrade and removal, and all pairings with'
	@echo '                   the kernel'"'"'s own of 6.1, 6.12 and 7.3; matrix-7.3 likewise;'
	@echo '                   matrix-trixie: some self-tests on 6.12 of Debian 13'
	@echo '  host-trixie      make demo and make check on Debian 13, in a root file system'
	@echo '  storm            faults by seed for two mounts and their server, in virtual time:'
	@echo '                   SEEDS=100 from FIRST=1, or SEED="3 17"; REPLAY=1: each twice,'
	@echo '                   must be equal; PLANT=1: each with a fault that must be found'
	@echo '  storm-full       storm, and 25 seeds more'
	@echo '  coverage         how much of the core the tests in user space reach'
	@echo '  soak             fuzz, sim-soak, storm-soak and selftests-soak with random choices,'
	@echo '                   round by round, until it is stopped or MINUTES= are over;'
	@echo '                   each round has FUZZ_SECONDS=300, SIM_SECONDS=1800 and'
	@echo '                   STORM_MINUTES=30'
	@echo '  packaging        tarball, Debian packages on Debian 12 and 13, dkms on every'
	@echo '                   supported kernel'
	@echo '  interfaces       compare the kernel interfaces that the module uses with the'
	@echo '                   newest kernel in Debian'
	@echo '  demo             show it working; FILES=150: with so many files'
	@echo '  demo-check       what demo prints and how it ends, with few files'
	@echo '  bench            measure it beside the kernel'"'"'s own transport and TCP;'
	@echo '                   PART="core counts latency memory instructions profile contention"'
	@echo '                   picks, TRANSPORTS="v2 fixed rtrext v1 intree tcp" too; CPUS=4: contention'
	@echo '                   with four processors; FULL=1 measures more, for two and a half hours'
	@echo 'Set-up'
	@echo '  deps             install the Debian packages that all of this needs'
	@echo '  kernels          fetch and build the kernels of check that are not there yet'
	@echo
	@echo 'GUEST=qemu or GUEST=uml overrides the kind of guest; the default is the fastest.'
	@echo 'KERNEL is a name that scripts/kernel --help explains, or a line of kernels, such as'
	@echo '6.1, 6.12 (default of the tests) or 7.3: each test then chooses a kernel of it.'
	@echo 'Kernels are cached in $${RPCRDMA_CACHE:-~/.cache/rpcrdma}.'
