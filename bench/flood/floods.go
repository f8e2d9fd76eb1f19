package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A flood is a row of the table.
type flood struct {
	name string
	// target says where the flood goes; false: the product does not serve that.
	target func(*product) (target, bool)
}

// target is what the flood's process is told.
type target struct {
	Address string
	Kind    kind
	// Connections is how many are used at a time: as many as can be had, for those that are only opened.
	Connections int
	TLS         bool
}

// kind is what is sent.
type kind string

const (
	idle         kind = "idle"
	slowHeader   kind = "slow header"
	handshakes   kind = "handshakes"
	randomUUID   kind = "random UUID"
	randomLabels kind = "random labels"
	ignition     kind = "ignition"
	httpBoot     kind = "httpboot"
	registration kind = "registration"
	report       kind = "report"
	randomDigest kind = "random digest"
	event        kind = "event"
	token        kind = "token"
)

const (
	busyConnections = 16
	manyConnections = 4000
)

// at is a flood of an address of the ready line.
func at(key string, k kind, connections int, secure bool) func(*product) (target, bool) {
	return func(p *product) (target, bool) {
		address, served := p.address(key)
		return target{Address: address, Kind: k, Connections: connections, TLS: secure}, served
	}
}

// floods are those of a client that nobody knows.
var floods = []flood{
	{"idle connections", at("boot", idle, manyConnections, false)},
	{"slow headers", at("boot", slowHeader, manyConnections, false)},
	{"`/ipxe/{random uuid}`", at("boot", randomUUID, busyConnections, false)},
	{"`/ipxe?random labels`", at("boot", randomLabels, busyConnections, false)},
	{"`/ignition/{uuid}` of the machine", at("boot", ignition, busyConnections, false)},
	{"`/httpboot`", at("boot", httpBoot, busyConnections, false)},
	{"POST `/register`, 4 MiB", at("boot", registration, busyConnections, false)},
	{"POST `/probe/x/register`, 4 MiB", at("boot", report, busyConnections, false)},
	{"`/image`, random digests", at("boot", randomDigest, busyConnections, false)},
	{"TLS handshakes, boot", at("boot-tls", handshakes, busyConnections, true)},
	{"events address", at("events", event, busyConnections, false)},
	{"TLS handshakes, operators", at("operator", handshakes, busyConnections, true)},
	{"operators, invented tokens", at("operator", token, busyConnections, true)},
}

// bigBody is the longest body that is taken, of as many elements as it has room for.
var bigBody = "[" + strings.Repeat("{},", (4<<20)/3-1) + "{}]"

// request is the next one of a flood.
func (t target) request(random *rand.Rand) string {
	get := func(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: " + t.Address + "\r\n" }
	post := func(path, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, t.Address, len(body), body)
	}
	switch t.Kind {
	case randomUUID:
		return get("/ipxe/"+uuid(random)) + "\r\n"
	case randomLabels:
		return get(fmt.Sprintf("/ipxe?uuid=%s&buildarch=x86_64&manufacturer=%x&product=%x&serial=%x", uuid(random), random.Uint64(), random.Uint64(), random.Uint64())) + "\r\n"
	case ignition:
		return get("/ignition/"+victim) + "\r\n"
	case httpBoot:
		return get("/httpboot") + fmt.Sprintf("X-Forwarded-For: 10.%d.%d.%d\r\n\r\n", random.IntN(256), random.IntN(256), random.IntN(256))
	case registration:
		return post("/register", bigBody)
	case report:
		return post("/probe/x/register", bigBody)
	case randomDigest:
		return get(fmt.Sprintf("/image?imageName=farrier%%2Fos&layerDigest=sha256%%3A%016x%016x%016x%016x", random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64())) + "\r\n"
	case event:
		return post(fmt.Sprintf("/alerts/%x/%x", random.Uint64(), random.Uint64()), bigBody)
	case token:
		return get("/boots/"+victim) + fmt.Sprintf("Authorization: Bearer %x\r\n\r\n", random.Uint64())
	}
	return get("/healthz") + "\r\n"
}

func uuid(random *rand.Rand) string {
	a, b := random.Uint64(), random.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", uint32(a), uint16(a>>32), a>>52, b>>52, b&0xffffffffffff)
}
