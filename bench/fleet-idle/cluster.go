package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/bench/internal/site"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/inspection"
	"github.com/farrier-dev/farrier/internal/sim"
)

// populate creates what stands for a site that has been at work for long: every BMC with its credentials, its server, and the
// record of an inspection of that, so that the servers are Available and none has to be booted. Nobody has met a BMC that does not answer.
func populate(ctx context.Context, api *site.API, bmcs []sim.BMCInfo, kinds []behaviour) error {
	return site.Each(ctx, len(bmcs), func(ctx context.Context, i int) error {
		content, err := inspection.Pack(reportOf(bmcs[i]))
		if err != nil {
			return err
		}
		for _, object := range objectsOf(bmcs[i], kinds[i], content) {
			if err := api.Create(ctx, object); err != nil {
				return fmt.Errorf("create %T %s: %w", object, object.GetName(), err)
			}
		}
		return nil
	})
}

// reportOf is what a probe reported of a server.
func reportOf(info sim.BMCInfo) inspection.Registration {
	return inspection.Registration{SystemUUID: info.UUID, Attempt: "bench", Data: inspection.Report{NetworkInterfaces: []inspection.NetworkInterface{
		{Name: "eno1", MACAddress: info.MAC, CarrierStatus: inspection.CarrierUp, IPAddresses: []string{info.IP.String()}},
	}}}
}

func objectsOf(info sim.BMCInfo, kind behaviour, content []byte) []client.Object {
	secret := &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: info.Name}}
	secret.Data = map[string][]byte{"username": []byte(site.Username), "password": []byte(site.Password)}
	bmc := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: info.Name, Finalizers: []string{metalv1.FinalizerBMC}}}
	bmc.Spec.Access = &metalv1.InlineEndpoint{IP: info.IP.String(), MACAddress: info.MAC}
	bmc.Spec.BMCSecretRef.Name = info.Name
	bmc.Spec.Protocol = metalv1.Protocol{Name: "Redfish", Scheme: "http", Port: int32(info.Port)}
	if kind == refusing {
		bmc.Spec.Protocol.Port = refusingPort
	}
	if kind != healthy {
		return []client.Object{secret, bmc}
	}
	bmc.Spec.BMCUUID = info.ManagerUUID
	server := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: info.Name + "-system-0", Finalizers: []string{metalv1.FinalizerServer}}}
	server.Spec.SystemUUID, server.Spec.SystemURI = info.UUID, info.SystemURI
	server.Spec.BMCRef = &metalv1.LocalObjectReference{Name: info.Name}
	record := machinerecord.New(site.Namespace, machinerecord.InspectionName(server.Name), machinerecord.KindInspection, server.Name, "bench", content)
	return []client.Object{secret, record, bmc, server}
}
