// Package policyspec reads what a RolloutPolicy says: admission, controllers and the command line read it alike.
package policyspec
