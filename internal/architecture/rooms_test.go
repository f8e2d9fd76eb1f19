package architecture

import "strings"

const module = "github.com/farrier-dev/farrier"

// A room is a part of the tree about which one thing can be said: what it may
// import. Packages below its folder belong to it, unless a row with a longer
// path claims them.
type room struct {
	path string

	// may lists the rooms that this one may import; "folder/..." stands for
	// all rooms of a folder. A room may always import itself; a room that
	// nobody lists is imported by nobody.
	may []string

	// only lists the third-party import paths that may appear in the room
	// itself. nil means any; stdlib means none.
	only []string

	// never lists import paths that must not be reachable over any chain of
	// imports, however long: what matters there is what gets linked.
	never []string

	because string
}

// stdlib as a room's only: nothing but the standard library.
var stdlib = []string{}

// kubernetesClients is what it takes to talk to a Kubernetes API, or to be one.
var kubernetesClients = []string{
	"k8s.io/apiserver",
	"k8s.io/client-go",
	"k8s.io/kubernetes",
	"sigs.k8s.io/controller-runtime",
}

// kubernetes is that and the vocabulary of its objects. k8s.io/utils is not
// part of it: it is a few leaf packages, of which the clock is used everywhere.
var kubernetes = append([]string{
	"k8s.io/api",
	"k8s.io/apiextensions-apiserver",
	"k8s.io/apimachinery",
	module + "/api",
}, kubernetesClients...)

// plumbing is what a room that knows no Kubernetes may still reach: a queue with back-off, and what it stands on. It knows no API and no object,
// and writing it anew three times was worse than the name on it.
var plumbing = []string{"k8s.io/client-go/util/workqueue", "k8s.io/apimachinery/pkg/util/runtime", "k8s.io/apimachinery/pkg/util/sets"}

// controlPlane is the Kubernetes API server itself. Linking it costs 60 MB and
// minutes of compilation, so one room has it.
var controlPlane = []string{"k8s.io/kubernetes", "go.etcd.io/etcd/server"}

// rooms is the plan of the house, from the ground up.
var rooms = []room{
	{
		path:    "api",
		only:    []string{"k8s.io/apimachinery"},
		because: "other people's programs import the wire types; they must get nothing else with them",
	},
	{
		path:    "config",
		never:   controlPlane,
		because: "manifests are data",
	},
	{
		path:    "internal/printable",
		only:    stdlib,
		because: "text is harmless or not, whoever wrote it",
	},
	{
		path:    "internal/bootattempt",
		may:     []string{"api", "internal/inspection"},
		never:   controlPlane,
		because: "how far a boot has come is a fact of an object, whoever reads it",
	},
	{
		path:    "internal/shard",
		only:    stdlib,
		because: "which manager looks after a BMC is computed by all of them alike",
	},
	{
		path:    "internal/identity",
		only:    stdlib,
		because: "the spelling of a UUID or MAC is below everything",
	},
	{
		path:    "internal/host/ownership",
		only:    stdlib,
		because: "whose a file is concerns whoever opens one",
	},
	{
		path:    "internal/controller/objectname",
		never:   controlPlane,
		because: "which names are possible is the same for those who admit references and for those who follow them",
	},
	{
		path:    "internal/controller/watchfilter",
		may:     []string{"api"},
		never:   controlPlane,
		because: "which objects are an installation's is the same for those who read, who judge and who start",
	},
	{
		path:    "internal/host/tcpstate",
		only:    stdlib,
		because: "what the kernel knows of a connection is below everything",
	},
	{
		path:    "internal/host/neighbour",
		may:     []string{"internal/identity"},
		never:   kubernetes,
		because: "what the kernel knows of neighbours is below everything",
	},
	{
		path:    "internal/inbound/hostcheck",
		only:    stdlib,
		because: "for whom a request is meant does not depend on which server it came to",
	},
	{
		path:    "internal/inbound/ratelimit",
		never:   kubernetes,
		because: "how often an address may do something does not depend on what it does",
	},
	{
		path:    "internal/inbound/progress",
		only:    stdlib,
		because: "how long a download may take does not depend on what is downloaded",
	},
	{
		path:    "internal/inbound/udp",
		only:    stdlib,
		because: "how packets are read does not depend on what is in them",
	},
	{
		path:    "internal/host/cgroup",
		never:   kubernetes,
		because: "what a process may have does not depend on what it does with it",
	},
	{
		path:    "internal/host/meminfo",
		only:    stdlib,
		because: "how much memory there is does not depend on what it is used for",
	},
	{
		path:    "internal/host/collector",
		may:     []string{"internal/host/cgroup", "internal/host/meminfo"},
		never:   kubernetes,
		because: "how often garbage is collected depends on how much is live, and not on what that is",
	},
	{
		path:    "internal/inbound",
		may:     []string{"internal/inbound/ratelimit"},
		never:   kubernetes,
		because: "how many connections strangers may have does not depend on what they are answered",
	},
	{
		path:    "internal/inbound/pages",
		may:     []string{"internal/inbound", "internal/inbound/hostcheck", "internal/program/version"},
		never:   kubernetes,
		because: "what operators see of a program is served the same way, whichever it is",
	},
	{
		path:    "internal/ipxeapi/assignment",
		may:     []string{"internal/identity"},
		only:    []string{},
		never:   kubernetes,
		because: "which profile a machine runs is a function of what it says and what is assigned, the same on every replica",
	},
	{
		path:    "internal/ipxeapi/spelling",
		may:     []string{"api", "internal/ipxeapi/assignment"},
		never:   kubernetesClients,
		because: "what other versions of an API mean is the same for those who admit, those who decide and those who import",
	},
	{
		path:    "internal/ipxeapi/profile",
		may:     []string{"internal/ipxeapi/assignment", "internal/identity"},
		never:   kubernetes,
		because: "what a machine is given is rendered from what is handed in, and tested without an API",
	},
	{
		path:    "internal/ipxeapi/content",
		may:     []string{"internal/identity", "internal/cache/resolver"},
		never:   kubernetes,
		because: "what other servers are asked for is fetched in the background, whoever needs it",
	},
	{
		path:    "internal/controller/allocator",
		may:     []string{"api", "internal/controller/probeboot"},
		never:   kubernetesClients,
		because: "who gets which server is computed from what is handed in, and tested without an API",
	},
	{
		path:    "internal/rollout",
		only:    []string{"github.com/robfig/cron/v3"},
		never:   kubernetes,
		because: "which machines may get a change is computed from what is handed in, and tested over whole fleets without an API",
	},
	{
		path:    "internal/rollout/policyspec",
		may:     []string{"api", "internal/rollout"},
		never:   kubernetesClients,
		because: "what a RolloutPolicy says is the same for whoever refuses it, follows it or prints it",
	},
	{
		path:    "internal/controller/rolloutpermit",
		may:     []string{"api"},
		never:   kubernetesClients,
		because: "whether an object may begin is a fact of it, whoever reads it",
	},
	{
		path:    "internal/controller/probeboot",
		may:     []string{"api"},
		never:   kubernetesClients,
		because: "whether a machine has booted its probe is a fact of its Server, whoever reads it",
	},
	{
		path:    "internal/place",
		may:     []string{"api"},
		never:   kubernetesClients,
		because: "where a server stands is read from its labels, whoever asks",
	},
	{
		path:    "internal/bmc/macprefix",
		may:     []string{"internal/bmc", "internal/identity"},
		never:   kubernetes,
		because: "which vendor a MAC address belongs to is a file, not an object",
	},
	{
		path:    "internal/bmc",
		may:     []string{"internal/cache/bounded", "internal/identity"},
		never:   kubernetes,
		because: "a BMC is spoken to in the terms of Redfish, whoever asks",
	},
	{
		path:    "internal/bmc/bmctest",
		may:     []string{"internal/bmc", "internal/host/tcpstate"},
		never:   kubernetes,
		because: "a scripted BMC is for tests alone",
	},
	{
		path:    "internal/bmc/bmcevents",
		may:     []string{"internal/bmc", "internal/inbound/..."},
		never:   kubernetes,
		because: "what BMCs send of their own accord only wakes others up; nothing is decided on it",
	},
	{
		path:    "internal/console",
		may:     []string{"internal/bmc"},
		never:   kubernetes,
		because: "a console is bytes between people and a BMC; who may use it, and where it is, is decided elsewhere",
	},
	{
		path:    "internal/fleet",
		may:     []string{"internal/bmc", "internal/identity"},
		never:   kubernetes,
		because: "the fleet reports what BMCs say; what follows from it is decided elsewhere",
	},
	{
		path:    "internal/bootview/booturl",
		only:    stdlib,
		because: "under which URL a machine reaches the boot server is the same for those who write objects and those who answer",
	},
	{
		path:    "internal/inbound/boottls",
		may:     []string{"internal/host/..."},
		only:    []string{"github.com/go-logr/logr", "k8s.io/utils"},
		because: "what certificates machines are shown is the same wherever the authority is kept",
	},
	{
		path:    "internal/inspection/gzipped",
		only:    stdlib,
		because: "it compresses bytes, whatever they say",
	},
	{
		path:    "internal/otlp",
		never:   kubernetesClients,
		because: "how spans reach a collector does not depend on what they tell of",
	},
	{
		path:    "internal/cache/resolver",
		never:   kubernetes,
		because: "how something is found out in the background does not depend on what it is",
	},
	{
		path:    "internal/cache/bounded",
		only:    stdlib,
		because: "a data structure knows nothing of what is kept in it",
	},
	{
		path:    "internal/bootview",
		may:     []string{"internal/printable", "internal/identity", "internal/cache/bounded", "internal/inbound/ratelimit"},
		only:    stdlib,
		because: "the boot view is a pure data structure between those who decide and those who answer",
	},
	{
		path:    "internal/image/layout",
		never:   kubernetes,
		because: "a layout is files in a folder, whoever serves them",
	},
	{
		path:    "internal/image/signature",
		only:    stdlib,
		because: "whether a key has signed bytes depends on nothing but the three",
	},
	{
		path:    "internal/image/registry",
		may:     []string{"internal/cache/resolver", "internal/cache/bounded", "internal/image/layout", "internal/image/signature"},
		never:   kubernetes,
		because: "images come from OCI registries; objects that name them are the controllers' business",
	},
	{
		path:    "internal/bootview/bootfile",
		may:     []string{"internal/bootview", "internal/image/registry"},
		never:   kubernetes,
		because: "what firmware fetches is the same for those who write its URL and those who answer, who know no object",
	},
	{
		path:    "internal/bootview/bootmethod",
		may:     []string{"api", "internal/bootview", "internal/bootview/bootfile", "internal/image/registry"},
		never:   kubernetesClients,
		because: "a boot method is a row and a renderer, and whoever goes through the table knows no kind by name",
	},
	{
		path:    "internal/image/blobcache",
		may:     []string{"internal/image/registry", "internal/cache/resolver", "internal/cache/bounded", "internal/host/diskspace"},
		never:   kubernetes,
		because: "a blob is bytes with a digest, whoever boots it",
	},
	{
		path:    "internal/firmwareimage",
		may:     []string{"internal/bmc", "internal/cache/resolver", "internal/host/diskspace", "internal/inbound/progress"},
		never:   kubernetes,
		because: "an image of firmware is bytes with a digest, whoever installs it",
	},
	{
		path:    "internal/image/kmod",
		never:   kubernetes,
		because: "which kernel modules an image needs is in the modules themselves",
	},
	{
		path:    "internal/image/uki",
		never:   kubernetes,
		because: "a PE file is bytes, whoever boots it",
	},
	{
		path:    "internal/image/discovery",
		may:     []string{"internal/image/kmod", "internal/image/uki", "internal/image/bootimage", "internal/image/registry"},
		never:   kubernetes,
		because: "a discovery image is made of files, on any machine",
	},
	{
		path:    "internal/image/bootimage",
		may:     []string{"internal/image/registry"},
		never:   kubernetes,
		because: "who makes images needs a registry or a folder, and no cluster",
	},
	{
		path:    "internal/image/imagetest",
		may:     []string{"internal/image/localregistry", "internal/image/signature"},
		never:   kubernetes,
		because: "odd registries are for tests alone",
	},
	{
		path:    "internal/image/localregistry",
		may:     []string{"internal/inbound/hostcheck", "internal/image/layout"},
		never:   kubernetes,
		because: "a registry for the demo and for tests, never for the resolver itself",
	},
	{
		path:    "internal/ignition",
		may:     []string{"internal/identity", "internal/cache/bounded"},
		never:   kubernetes,
		because: "translating a configuration needs its bytes and nothing else",
	},
	{
		path:    "internal/inspection",
		may:     []string{"api", "internal/identity", "internal/inspection/gzipped"},
		never:   kubernetesClients,
		because: "the probe links this package and runs on the machine itself",
	},
	{
		path:    "internal/probe",
		may:     []string{"internal/inspection", "internal/identity", "internal/host/meminfo"},
		never:   kubernetesClients,
		because: "the agent runs on bare machines and knows one HTTP endpoint",
	},
	{
		path:    "internal/probe/pid1",
		may:     []string{"internal/probe", "internal/program/..."},
		never:   kubernetesClients,
		because: "there is nothing on the machine but this",
	},
	{
		path:    "internal/probe/command",
		may:     []string{"internal/probe", "internal/probe/pid1", "internal/inspection", "internal/identity", "internal/program/..."},
		never:   kubernetesClients,
		because: "the agent's flags are nobody else's, and it is downloaded by every machine that is looked at",
	},
	{
		path:    "internal/bootstream/streampb",
		only:    []string{"google.golang.org/protobuf", "google.golang.org/grpc"},
		because: "the protocol is what both ends have in common, and nothing else",
	},
	{
		path:    "internal/host/boundedfile",
		may:     []string{"internal/host/ownership"},
		only:    stdlib,
		because: "how much of a file is read, and whose a key is, does not depend on what is in it",
	},
	{
		path:    "internal/host/diskspace",
		only:    stdlib,
		because: "how much room a disk has does not depend on what for",
	},
	{
		path:    "internal/host/atomicfile",
		only:    stdlib,
		because: "how a file is replaced does not depend on what is in it",
	},
	{
		path:    "internal/bootstream/peer",
		may:     []string{"internal/host/...", "internal/inbound/ratelimit"},
		never:   kubernetes,
		because: "who may speak on the boot stream is decided by certificates and a table; boot servers link it",
	},
	{
		path:    "internal/bootstream/authority",
		may:     []string{"internal/bootstream/peer", "internal/host/..."},
		never:   kubernetes,
		because: "certificates are made of keys and names; boot servers link it",
	},
	{
		path:    "internal/bootstream/enroll",
		may:     []string{"internal/bootstream/streampb", "internal/bootstream/peer", "internal/bootstream/authority", "internal/host/..."},
		never:   kubernetes,
		because: "how a boot server gets its certificate does not depend on where managers keep what they know of it; boot servers link it",
	},
	{
		path: "internal/bootstream/records",
		may: []string{"internal/bootstream/streampb", "internal/bootview", "internal/bootview/booturl", "internal/ipxeapi/profile", "internal/ipxeapi/assignment", "internal/image/registry",
			"internal/cache/bounded"},
		never:   kubernetes,
		because: "what is sent is what is in the views, and what boot servers make of it again; they link it",
	},
	{
		path:    "internal/bootstream/sealed",
		may:     []string{"internal/host/..."},
		only:    stdlib,
		because: "what is kept on disk is sealed the same way, whatever it is",
	},
	{
		path:    "internal/bootstream/viewfile",
		may:     []string{"internal/bootstream", "internal/bootstream/streampb", "internal/bootstream/sealed"},
		never:   kubernetes,
		because: "a boot server starts with its last view while no API is there",
	},
	{
		path:    "internal/bootstream/outbox",
		may:     []string{"internal/bootstream/streampb", "internal/bootstream/sealed", "internal/bootview"},
		never:   kubernetes,
		because: "what waits for a manager is noted on the way of every answer, and waits for nothing itself",
	},
	{
		path:    "internal/bootstream",
		may:     []string{"internal/printable", "internal/bootstream/streampb", "internal/bootview/booturl", "internal/cache/bounded"},
		never:   kubernetes,
		because: "how records get to boot servers does not depend on what is in them; boot servers link it",
	},
	{
		path:    "internal/netboot/dhcp",
		may:     []string{"internal/identity", "internal/inbound/ratelimit"},
		never:   kubernetes,
		because: "what DHCP tells a machine is a function of what it says and of what the boot server would say; boot servers link it",
	},
	{
		path:    "internal/netboot/dhcp/lease",
		may:     []string{"internal/host/atomicfile"},
		never:   kubernetes,
		because: "who has which address does not depend on what the machine boots",
	},
	{
		path:    "internal/netboot/dhcp/link",
		never:   kubernetes,
		because: "how a packet gets onto a segment does not depend on what is in it",
	},
	{
		path:    "internal/netboot/bootfiles",
		only:    stdlib,
		because: "a boot program is a file in a directory, whoever asks for it and by which protocol",
	},
	{
		path:    "internal/netboot/tftp",
		may:     []string{"internal/inbound/ratelimit", "internal/inbound/udp"},
		never:   kubernetes,
		because: "TFTP sends files; which of them a machine boots is decided elsewhere",
	},
	{
		path:    "internal/netboot/dhcp/v6",
		may:     []string{"internal/netboot/dhcp", "internal/netboot/dhcp/lease", "internal/identity", "internal/inbound/ratelimit", "internal/inbound/udp"},
		never:   kubernetes,
		because: "packets are made of decisions, and no packet waits for Kubernetes; boot servers link it",
	},
	{
		path:    "internal/netboot/dhcp/service",
		may:     []string{"internal/netboot/dhcp", "internal/netboot/dhcp/...", "internal/netboot/tftp", "internal/netboot/bootfiles", "internal/identity", "internal/inbound/ratelimit"},
		never:   kubernetes,
		because: "what runs DHCP is the same in a manager and in a boot server that stands apart",
	},
	{
		path:    "internal/netboot/dhcp/v4",
		may:     []string{"internal/netboot/dhcp", "internal/netboot/dhcp/lease", "internal/identity", "internal/inbound/ratelimit", "internal/inbound/udp"},
		never:   kubernetes,
		because: "packets are made of decisions, and no packet waits for Kubernetes; boot servers link it",
	},
	{
		path: "internal/bootserver",
		may: []string{"internal/bootview/bootfile", "internal/bootview/booturl", "internal/bootview", "internal/ipxeapi/profile", "internal/ipxeapi/assignment", "internal/image/registry", "internal/image/blobcache", "internal/ignition",
			"internal/inspection", "internal/identity", "internal/cache/bounded", "internal/inbound/...", "internal/netboot/dhcp", "internal/netboot/bootfiles"},
		never:   kubernetes,
		because: "no answer to a machine may wait for Kubernetes, and boot servers hold none of its credentials",
	},
	{
		path: "internal/bootserver/setup",
		may: []string{"internal/bootserver", "internal/bootview/booturl", "internal/image/registry", "internal/image/signature", "internal/image/blobcache", "internal/inbound/...",
			"internal/host/boundedfile", "internal/host/ownership", "internal/netboot/dhcp", "internal/netboot/dhcp/service"},
		never:   kubernetes,
		because: "the flags of boot servers are the same with and without Kubernetes",
	},
	{
		path: "internal/bootserver/process",
		may: []string{"internal/bootserver", "internal/bootserver/setup", "internal/bootview", "internal/bootstream/...", "internal/bootstream", "internal/image/blobcache", "internal/image/registry",
			"internal/inspection", "internal/ipxeapi/profile", "internal/inbound/...", "internal/host/...", "internal/program/...", "internal/netboot/dhcp", "internal/netboot/dhcp/service"},
		never:   append([]string{module + "/internal/controller", module + "/internal/system"}, kubernetes...),
		because: "it stands among machines that nobody trusts yet, so it has no way to a Kubernetes API",
	},
	{
		path:    "internal/logbook",
		may:     []string{"internal/cache/bounded", "internal/host/..."},
		never:   kubernetes,
		because: "what was done to machines is kept the same way, whoever did it",
	},
	{
		path:    "internal/diagnosis",
		may:     []string{"internal/bootattempt", "internal/printable", "api", "internal/bootview", "internal/identity", "internal/ipxeapi/profile", "internal/logbook"},
		never:   kubernetesClients,
		because: "why something is as it is follows from facts that are handed in; a terminal and a page show the same sentence",
	},
	{
		path:    "internal/dashboard/assets",
		only:    stdlib,
		because: "files of others are the same whoever loads them",
	},
	{
		path:    "internal/dashboard",
		may:     []string{"api", "internal/verb", "internal/console", "internal/controller", "internal/dashboard/assets", "internal/dashboard/page", "internal/logbook", "internal/overview"},
		never:   append([]string{module + "/internal/system", module + "/internal/sim"}, controlPlane...),
		because: "who looks and what they may do is the same whichever process serves the pages",
	},
	{
		path:    "internal/dashboard/page",
		may:     []string{"internal/bootattempt", "internal/printable", "api", "internal/bootview", "internal/controller", "internal/diagnosis", "internal/inquiry", "internal/inspection", "internal/logbook", "internal/overview", "internal/place", "internal/timeline"},
		never:   append([]string{module + "/internal/cli", module + "/internal/system"}, controlPlane...),
		because: "what a page shows is drawn from what its reader may read; who serves it is decided elsewhere",
	},
	{
		path:    "internal/diagnosis/faults",
		may:     []string{"internal/bootattempt", "api", "internal/bootview", "internal/diagnosis", "internal/ipxeapi/profile"},
		never:   kubernetesClients,
		because: "every place that says why something is wrong is tested by the same faults",
	},
	{
		path:    "internal/inquiry",
		may:     []string{"api", "internal/diagnosis", "internal/controller", "internal/identity", "internal/ipxeapi/assignment", "internal/logbook"},
		never:   controlPlane,
		because: "the facts of a diagnosis are gathered the same way, whoever asks why",
	},
	{
		path:    "internal/timeline",
		may:     []string{"internal/bootattempt", "internal/printable", "api", "internal/bootview/bootmethod", "internal/controller", "internal/controller/rolloutpermit", "internal/logbook"},
		never:   append([]string{module + "/internal/cli"}, controlPlane...),
		because: "the life of a server is the same in a terminal and on a page",
	},
	{
		path:    "internal/overview",
		may:     []string{"internal/bootattempt", "api", "internal/diagnosis", "internal/bootview", "internal/bootview/bootmethod", "internal/controller", "internal/place"},
		never:   controlPlane,
		because: "what is known of all servers is the same picture in a terminal and on a page",
	},
	{
		path: "internal/controller",
		may: []string{"internal/shard", "internal/bootattempt", "internal/printable", "api", "internal/bootview/bootmethod", "internal/bmc", "internal/bmc/bmcevents", "internal/fleet", "internal/firmwareimage", "internal/bootview/booturl", "internal/bootview", "internal/image/registry",
			"internal/ignition", "internal/inspection", "internal/inspection/gzipped", "internal/identity", "internal/controller/objectname", "internal/controller/watchfilter", "internal/controller/rolloutpermit", "internal/controller/probeboot",
			"internal/controller/allocator", "internal/bmc/macprefix", "internal/ipxeapi/...", "internal/controller/index", "internal/inbound/...",
			"internal/cache/bounded", "internal/otlp", "internal/bootstream", "internal/bootstream/streampb", "internal/bootstream/peer", "internal/bootstream/enroll", "internal/netboot/dhcp", "internal/logbook", "internal/console", "internal/diagnosis", "internal/place", "internal/rollout/..."},
		never:   controlPlane,
		because: "controllers decide; they work the same on any Kubernetes API, and against real or simulated BMCs",
	},
	{
		path:    "internal/controller/index",
		may:     []string{"internal/bootattempt", "api", "internal/bootview/bootmethod", "internal/identity", "internal/ipxeapi/assignment", "internal/ipxeapi/profile", "internal/ipxeapi/spelling", "internal/controller"},
		never:   controlPlane,
		because: "how objects are found is the same for those who decide and for those who admit",
	},
	{
		path: "internal/admission",
		may: []string{"api", "internal/bootview/bootmethod", "internal/bootview", "internal/image/registry", "internal/identity", "internal/controller/rolloutpermit", "internal/rollout/...", "internal/controller/objectname", "internal/controller/allocator", "internal/ipxeapi/...",
			"internal/controller/index", "internal/controller/watchfilter", "internal/inbound/...", "internal/host/...", "internal/bootstream/authority"},
		never:   controlPlane,
		because: "what is refused does not depend on where: in the process of the API server or beside it",
	},
	{
		path:    "internal/sim",
		may:     []string{"internal/probe", "internal/inspection", "internal/identity", "internal/host/tcpstate", "internal/inbound/hostcheck"},
		never:   kubernetes,
		because: "the rack must find out what Farrier does the way hardware would, over the network",
	},
	{
		path:    "internal/sim/vm/nvram",
		only:    stdlib,
		because: "a file of variables is the same whoever writes it",
	},
	{
		path:    "internal/sim/vm",
		may:     []string{"internal/sim", "internal/sim/vm/nvram", "internal/host/atomicfile"},
		never:   append([]string{module + "/internal/netboot/dhcp"}, kubernetes...),
		because: "virtual machines find out what Farrier does as others do, over their network",
	},
	{
		path:    "internal/controlplane",
		may:     []string{"internal/controlplane/crds", "internal/host/...", "internal/cache/bounded"},
		because: "an API server that knows nothing of what is stored in it can be replaced by any other",
	},
	{
		path:    "internal/backup",
		may:     []string{"internal/host/..."},
		never:   append(append([]string{}, kubernetes...), controlPlane...),
		because: "what a backup file looks like does not depend on where its parts come from",
	},
	{
		path:    "internal/listing",
		may:     []string{},
		never:   controlPlane,
		because: "whose objects are listed, and what becomes of them, is for others to say",
	},
	{
		path:    "internal/move",
		may:     []string{"internal/bootattempt", "api", "config", "internal/controller", "internal/listing", "internal/system"},
		never:   append([]string{module + "/internal/sim"}, controlPlane...),
		because: "what moves between two Kubernetes APIs does not depend on who runs them",
	},
	{
		path:    "internal/controlplane/crds",
		never:   controlPlane,
		because: "definitions are installed in any Kubernetes API, not only in ours",
	},
	{
		path:    "internal/controlplane/testapi",
		may:     []string{"config", "internal/controlplane/crds"},
		never:   controlPlane,
		because: "tests start the control plane as a child process, so that they need not link it",
	},
	{
		path:    "internal/controlplane/testapi/apiserver",
		may:     []string{"api", "internal/controlplane", "internal/admission"},
		because: "this is that child process, and it admits what farrier up admits",
	},
	{
		path:    "internal/controlplane/testapi/kubeapiserver",
		may:     []string{"internal/controlplane"},
		because: "this is the API server of a cluster, which knows nothing of Farrier",
	},
	{
		path: "internal/system",
		may: []string{"internal/shard", "api", "internal/identity", "internal/controller/objectname", "internal/controller/watchfilter", "internal/bmc/macprefix", "internal/bmc", "internal/bmc/bmcevents", "internal/fleet", "internal/firmwareimage",
			"internal/bootview/booturl", "internal/inbound/...", "internal/bootview", "internal/bootview/bootmethod", "internal/image/registry", "internal/image/blobcache", "internal/ignition", "internal/inspection",
			"internal/logbook", "internal/console", "internal/bootserver", "internal/bootserver/setup", "internal/bootstream/...", "internal/netboot/dhcp", "internal/netboot/dhcp/service", "internal/ipxeapi/assignment", "internal/ipxeapi/profile", "internal/ipxeapi/content", "internal/cache/bounded", "internal/host/...", "internal/controller", "internal/controller/index", "internal/otlp", "internal/program/version", "internal/dashboard"},
		never:   controlPlane,
		because: "this is the one place where the rooms are put together, around any Kubernetes API; it wires and decides nothing",
	},
	{
		path: "internal/standalone",
		may: []string{"api", "config", "internal/bmc/macprefix", "internal/bmc", "internal/image/localregistry", "internal/image/discovery", "internal/image/layout", "internal/image/registry", "internal/program/version", "internal/sim", "internal/sim/vm", "internal/netboot/dhcp/lease", "internal/netboot/dhcp/service", "internal/controlplane",
			"internal/controlplane/crds", "internal/listing", "internal/system", "internal/admission", "internal/backup", "internal/host/ownership"},
		because: "a system with an API of its own; what is in it is wired elsewhere",
	},
	{
		path:    "internal/manager",
		may:     []string{"api", "config", "internal/controller/watchfilter", "internal/system", "internal/admission", "internal/controlplane/crds", "internal/program/...", "internal/host/collector"},
		never:   append([]string{module + "/internal/sim"}, controlPlane...),
		because: "what runs in a cluster is given its API, and simulates nothing",
	},
	{
		path:    "internal/program/version",
		only:    stdlib,
		because: "every program says its version in the same way",
	},
	{
		path:    "internal/ipxeapi/importer",
		may:     []string{"api", "internal/ipxeapi/...", "internal/identity"},
		never:   kubernetesClients,
		because: "files become other files, without any cluster",
	},
	{
		path: "internal/cli",
		may: []string{"internal/printable", "api", "internal/bootview", "internal/bootview/bootmethod", "internal/standalone", "internal/system", "internal/sim", "internal/sim/vm", "internal/image/localregistry", "internal/image/registry", "internal/image/discovery", "internal/image/bootimage", "internal/image/uki", "internal/program/...", "internal/ipxeapi/...",
			"internal/controller", "internal/ignition", "internal/inspection", "internal/backup", "internal/move", "internal/host/atomicfile", "internal/host/ownership", "internal/bootstream/peer", "internal/bootstream/authority",
			"internal/bootstream/enroll", "internal/diagnosis", "internal/inquiry", "internal/overview", "internal/timeline", "internal/identity", "internal/logbook", "internal/console", "internal/cli/...", "internal/verb", "internal/place", "internal/rollout/..."},
		because: "subcommands start a system and then talk to it as any client would",
	},
	{
		path:    "internal/cli/manifest",
		may:     []string{"api", "config", "internal/admission", "internal/controller/rolloutpermit"},
		never:   controlPlane,
		because: "a file is judged by the schemas and rules that the API would judge it by, before anybody asks the API",
	},
	{
		path:    "internal/cli/screen",
		may:     []string{"internal/printable"},
		never:   kubernetesClients,
		because: "tables and pictures on a terminal do not depend on what they show",
	},
	{
		path:    "internal/cli/status",
		may:     []string{"internal/printable", "api", "internal/cli/screen", "internal/controller", "internal/overview"},
		never:   controlPlane,
		because: "what a server does is said the same way wherever it is shown",
	},
	{
		path:    "internal/verb",
		may:     []string{"internal/printable", "api", "internal/overview", "internal/ignition", "internal/program/usage", "internal/controller/rolloutpermit", "internal/rollout"},
		never:   append([]string{module + "/internal/system", module + "/internal/sim"}, controlPlane...),
		because: "an order is the same from a terminal and from a page",
	},
	{
		path:    "internal/program/usage",
		may:     []string{"internal/program/version"},
		never:   kubernetes,
		because: "what is wrong with a command line does not depend on what the command does",
	},
	{
		path:    "internal/program/configfile",
		may:     []string{"internal/program/usage", "internal/host/..."},
		only:    []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "go.yaml.in/yaml/v3", "github.com/google/go-cmp"},
		never:   kubernetes,
		because: "a file sets flags, whatever they are; programs without Kubernetes take one, too",
	},
	{
		path:    "internal/program/logging",
		only:    stdlib,
		because: "how a line of log looks does not depend on whose it is",
	},
	{
		path:    "internal/architecture",
		only:    stdlib,
		because: "who judges the imports of others has none",
	},
	{
		path:    "cmd/farrier",
		may:     []string{"internal/cli"},
		because: "a main function is flags and wiring",
	},
	{
		path:    "cmd/farrier-manager",
		may:     []string{"internal/manager"},
		because: "a main function is flags and wiring",
	},
	{
		path:    "cmd/farrier-bootserver",
		may:     []string{"internal/bootserver/process"},
		never:   kubernetes,
		because: "a main function is flags and wiring",
	},
	{
		path:    "cmd/metalprobe",
		may:     []string{"internal/probe/command"},
		never:   kubernetesClients,
		because: "the agent is downloaded by every machine that is looked at: it has to stay small",
	},
	{
		path:    "hack/manual",
		may:     []string{"config", "internal/cli", "internal/manager", "internal/bootserver/process", "internal/probe/command", "internal/program/..."},
		because: "the manual is made of the flags of programs and of the definitions of kinds, and needs nothing else of them",
	},
	{
		path: "bench",
		may: []string{"internal/shard", "api", "config", "internal/bmc", "internal/fleet", "internal/bootview", "internal/image/registry", "internal/image/blobcache", "internal/image/localregistry", "internal/ignition",
			"internal/inspection", "internal/identity", "internal/bootserver", "internal/controller", "internal/controller/index", "internal/controlplane/crds",
			"internal/sim", "internal/ipxeapi/assignment", "internal/ipxeapi/profile", "internal/bootstream", "internal/bootstream/...", "test"},
		never:   controlPlane,
		because: "a benchmark measures a room through its own door",
	},
	{
		path:    "test/lab",
		may:     []string{"api", "internal/sim", "internal/image/registry", "internal/image/localregistry", "test", "test/product"},
		never:   controlPlane,
		because: "machines and a registry outlive the product that is tested beside them",
	},
	{
		path:    "test/product",
		may:     []string{"api", "internal/controlplane/testapi", "test"},
		because: "the built product starts on a copy of a data directory, which the test API copies as well",
	},
	{
		path:    "test",
		may:     []string{"api"},
		because: "the built product is tested from outside; what its tests import is their own affair",
	},
}

// roomOf returns the room that an import path of this module belongs to.
func roomOf(rooms []room, importPath string) (room, bool) {
	rel := strings.TrimPrefix(importPath, module+"/")
	var found room
	for _, r := range rooms {
		if within(rel, r.path) && len(r.path) > len(found.path) {
			found = r
		}
	}
	return found, found.path != ""
}

// within reports whether path is dir or lies below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+"/")
}

// withinAny returns the first of dirs that path is or lies below.
func withinAny(path string, dirs []string) (string, bool) {
	for _, dir := range dirs {
		if within(path, dir) {
			return dir, true
		}
	}
	return "", false
}

func ours(importPath string) bool {
	return within(importPath, module)
}
