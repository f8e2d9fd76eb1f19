// Package cgroup reads the limits of this process's control group (cgroup v2), as containers and services have them.
package cgroup
