// Package watchfilter keeps several installations of Farrier apart that share a Kubernetes API.
//
// Every object of Farrier's kinds belongs to one installation: to that whose --watch-filter is the value of its label
// metal.ironcore.dev/watch-filter, or without the label to that without a filter. A [Filter] (filter.go) has the caches of a process hold nothing
// else. [Filter.Manager] (client.go) does the same for reads past the caches, and labels what the process creates.
//
// So no controller has to think of other installations: it never sees their objects. What it can meet is a name that is taken. The error of
// Create then says by whom.
//
// Secrets and ConfigMaps belong to people as well, and need no label: a reference to one is enough. Those that Farrier makes have it.
package watchfilter
