// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Tests that send a kernel messages of RPC-over-RDMA version 2, byte by byte.
 * They run in a guest: server_* are clients of the kernel's NFS server,
 * client_* are servers that the kernel's NFS client mounts.
 */
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

/* In a kernel's self-test, results are TAP. */
class Tap : public testing::EmptyTestEventListener {
	void OnTestProgramStart(const testing::UnitTest &all) override
	{
		std::cout << "1.." << all.test_to_run_count() << std::endl;
	}
	/* The kernel's trace says what happened in which. */
	void OnTestStart(const testing::TestInfo &test) override
	{
		std::ofstream("/sys/kernel/tracing/trace_marker")
			<< test.test_suite_name() << "." << test.name();
	}
	void OnTestPartResult(const testing::TestPartResult &part) override
	{
		std::istringstream lines(part.message());
		std::string line;

		if (!part.failed())
			return;
		std::cout << "# " << (part.file_name() ? part.file_name() : "-")
			  << ":" << part.line_number() << "\n";
		while (std::getline(lines, line))
			std::cout << "# " << line << "\n";
	}
	void OnTestEnd(const testing::TestInfo &test) override
	{
		const bool passed = test.result()->Passed();

		std::cout << (passed ? "ok " : "not ok ") << ++number_ << " - "
			  << test.test_suite_name() << "." << test.name()
			  << std::endl;
		if (test.result()->elapsed_time() > 5000)
			std::cout << "# " << test.result()->elapsed_time()
				  << " ms" << std::endl;
	}

	int number_ = 0;
};

int main(int argc, char **argv)
{
	testing::InitGoogleTest(&argc, argv);
	testing::TestEventListeners &listeners =
		testing::UnitTest::GetInstance()->listeners();
	delete listeners.Release(listeners.default_result_printer());
	listeners.Append(new Tap);
	return RUN_ALL_TESTS();
}

/* The core is linked for its tables of names alone. */
extern "C" void rpcrdma_shim_broken(const char *file, int line,
				    const char *what)
{
	std::fprintf(stderr, "%s:%d: %s\n", file, line, what);
	std::abort();
}
