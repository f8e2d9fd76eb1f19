// Package place says where a server stands, by the labels and annotations that say so.
package place
