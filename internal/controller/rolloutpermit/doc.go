// Package rolloutpermit is how a rollout lets one object begin: what the controller of RolloutPolicies writes, and the controllers of
// what goes by a policy obey.
//
// An object goes by the policy that its annotation farrier.dev/rollout-policy names. Until there is an open permit it changes nothing: no server
// is asked for. The permit is a fact of its own, beside status: whoever is killed finds who may have begun, when, and how it ended.
package rolloutpermit
