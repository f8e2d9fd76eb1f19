// Package profile renders what machines run that report labels: scripts, which are
// templates, and the configs that scripts refer to.
//
// A [Source] is what the author wrote. [Compile] checks it once (compile.go, script.go): templates
// have few functions, so that a mistake shows when it is written and no label that a machine
// reports can become a command of the script. A [Profile] then renders for any machine
// (render.go, evaluate.go): it inserts labels and the URLs of its configs. Compile cuts a script that
// only inserts into parts (insertions.go); rendering appends them.
//
// Authors are tenants, so a script has bounds (limits.go): of what it consists of when it is
// compiled, and of the bytes that its functions handle when it is rendered. text/template
// has no such bounds, so it only parses scripts. Scripts of one namespace that
// decide or call functions are rendered a few at a time (renderlimit.go), without a lock.
//
// Boot servers ask a [View] (view.go) for a machine's assignment and script, and for
// a config by its ID. URLs of configs name the revision of the profile that
// the script came from, so that a machine never mixes two, and are signed where that
// is asked for (sign.go).
//
// Other packages resolve contents; here they are bytes.
package profile
