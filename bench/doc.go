// Package bench is where the benchmarks are: a command each, described in the README.md beside it. What they hold Farrier to stands in
// docs/performance.md.
//
//	boot-answers/        what a boot server answers a second, beside a bare handler
//	boot-storm/          thousands of machines that boot at once from one boot server
//	claims/              what a claim costs, alone and among a thousand
//	dhcp/                whether known machines have their answers of DHCP in a flood of strangers
//	first-boot/          how long a machine takes from power-on to its report, beside dnsmasq and busybox
//	fleet-idle/          what thousands of idle BMCs cost, some of them hanging
//	fleet-onboard/       how long it takes from a BMC's address to an Available Server
//	flood/               what a stranger's flood does to others and to memory
//	image-proxy/         how fast a layer is passed on, beside nginx and its registry
//	lab-memory/          how much memory a farrier up needs that has nothing to do
//	recovery/            onboarding with the manager killed in the middle
//	rollout/             what a BIOS update of a fleet costs, beside one of a single server
//	rotation/            whether a rotation of all passwords locks anybody out, with the manager killed again and again
//	shards/              whether a fleet that several managers share survives that one of them is killed, again and again
//	stream/              how fast boot servers without Kubernetes get the view, and its changes
//	internal/child       the command again, as a process of its own
//	internal/program     programs of this module as processes, and what the kernel says of them
//	internal/site        a Kubernetes API, a manager and a rack in processes of their own
//	internal/lab         a whole farrier up, with boot configs
//	internal/bootserver  a boot server with an image cache, without a manager
//	internal/streaming   the boot stream, served as a manager does
//	internal/origin      a registry with one blob and a limited rate
//	internal/load        a load generator over HTTP/1.1 keep-alive connections
//	internal/options     flags that all have
//	internal/stats       medians and percentiles
//	internal/result      the machine it ran on, and JSON in results/
//
// They are not tests and assert nothing about time. Ratios are of things measured
// side by side in one run, in turns, so that whatever else the machine does
// falls on both.
package bench
