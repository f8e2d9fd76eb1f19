// Package cgroup says what the control group of this process lets it have (cgroup v2), as containers and services are bounded.
package cgroup
