// Package profile holds what machines run that name themselves: scripts that are
// templates, and the configs that scripts refer to.
//
// A [Source] is what its author wrote. [Compile] checks it once (compile.go, script.go): what a
// template may say is little, so that a mistake is found when it is written and
// nothing that a machine says of itself can become a command of the script. A
// [Profile] then renders for any machine (render.go, evaluate.go) by filling in labels and the
// URLs of its configs. A script that decides nothing has been cut into parts by then
// (parts.go), and is put together without evaluating anything.
//
// Authors are tenants, so a script has bounds (limits.go): of what it consists of when it is
// compiled, and of the bytes that its functions handle when it is rendered. text/template
// knows no such bounds, so it parses scripts and nothing more. Scripts of one namespace that
// decide or call functions are rendered a few at a time (turns.go), and no lock is held meanwhile.
//
// A [View] is what boot servers ask (view.go): which assignment is a machine's, its
// script, a config by its ID. URLs of configs name the revision of the profile that
// the script came from, so that a machine never mixes two, and are signed where that
// is asked for (sign.go).
//
// Contents are resolved elsewhere; here they are bytes.
package profile
