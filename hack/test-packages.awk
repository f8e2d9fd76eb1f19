# Says of every package with tests what it is: "program PACKAGE" for one that drives the built programs, and of others whether the race detector is worth
# its price there: "raced PACKAGE" or "plain PACKAGE", and "raced-api PACKAGE" or "plain-api PACKAGE" for one whose tests start a Kubernetes API. The Makefile
# says what decides, above its target test. A line of the input is "source PACKAGE", for a package of tests alone, "sequential PACKAGE", for one in which
# nothing runs beside anything, or a test binary and what it links. The packages of the variable first, without the module in front, are printed
# first, for go test begins with what is named first.

$1 == "source" { alone[$2] = 1; next }
$1 == "sequential" { sequential[$2] = 1; next }

$1 ~ /\.test$/ {
	sub(/\.test$/, "", $1)
	order[++count] = $1
	heavy[$1] = / k8s\.io\/kubernetes\//
	drives[$1] = / github\.com\/farrier-dev\/farrier\/test\/product( |$)/
	starts[$1] = / github\.com\/farrier-dev\/farrier\/internal\/controlplane\/testapi( |$)/
	for (i = 2; i <= NF; i++) {
		if ($i ~ /^github\.com\/farrier-dev\/farrier\// && $i != $1)
			links[$1] = 1
	}
}

function print_kind(package) {
	if (drives[package])
		print "program", package
	else
		print (heavy[package] || sequential[package] || (alone[package] && !links[package]) ? "plain" : "raced") (starts[package] ? "-api" : ""), package
	printed[package] = 1
}

END {
	many = split(first, long, " ")
	for (i = 1; i <= many; i++) {
		if (!((module "/" long[i]) in heavy)) {
			print "no package with tests is called " long[i] > "/dev/stderr"
			exit 1
		}
		print_kind(module "/" long[i])
	}
	for (i = 1; i <= count; i++) {
		if (!printed[order[i]]) {
			print_kind(order[i])
		}
	}
}
