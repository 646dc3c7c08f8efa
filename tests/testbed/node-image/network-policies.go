// The part of kube-router that keeps NetworkPolicies with iptables and ipset, without its router, its service proxy and the rights for them.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	"github.com/cloudnativelabs/kube-router/v2/pkg/utils"
	core "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

func main() {
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	if err := run(stop.Done()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(stop <-chan struct{}) error {
	account, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(account)
	if err != nil {
		return err
	}
	settings, err := settingsOfNode(client)
	if err != nil {
		return err
	}

	watches := informers.NewSharedInformerFactory(client, 0)
	pods := watches.Core().V1().Pods().Informer()
	namespaces := watches.Core().V1().Namespaces().Informer()
	policies := watches.Networking().V1().NetworkPolicies().Informer()
	watches.Start(stop)
	watches.WaitForCacheSync(stop)

	tables, sets, err := netpol.NewIPTablesHandlers(settings)
	if err != nil {
		return err
	}
	var oneAtATime sync.Mutex
	keeper, err := netpol.NewNetworkPolicyController(client, settings, pods, policies, namespaces, &oneAtATime, tables, sets)
	if err != nil {
		return err
	}
	for informer, handler := range map[cache.SharedIndexInformer]cache.ResourceEventHandler{
		pods: keeper.PodEventHandler, namespaces: keeper.NamespaceEventHandler, policies: keeper.NetworkPolicyEventHandler,
	} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}

	heartbeats := make(chan *healthcheck.ControllerHeartbeat)
	go func() { // it waits for somebody who takes them
		for range heartbeats {
		}
	}()
	var ended sync.WaitGroup
	ended.Add(1)
	keeper.Run(heartbeats, stop, &ended)
	ended.Wait()
	return nil
}

// settingsOfNode returns the settings of kube-router, with the IP families that the node has.
func settingsOfNode(client kubernetes.Interface) (*options.KubeRouterConfig, error) {
	settings := options.NewKubeRouterConfig()
	node, err := utils.GetNodeObject(client, "")
	for tries := 0; err != nil && tries < 100; tries++ { // the Service of the API server comes a moment later than this pod
		time.Sleep(time.Second)
		node, err = utils.GetNodeObject(client, "")
	}
	if err != nil {
		return nil, err
	}
	ipv4, ipv6 := utils.GetAllNodeIPs(node)
	settings.EnableIPv4, settings.EnableIPv6 = len(ipv4[core.NodeInternalIP]) > 0, len(ipv6[core.NodeInternalIP]) > 0
	// Only a service proxy of kube-router's own looks at the addresses of Services, but each family has to have some.
	settings.ClusterIPCIDRs = nil
	if settings.EnableIPv4 {
		settings.ClusterIPCIDRs = append(settings.ClusterIPCIDRs, "10.96.0.0/12")
	}
	if settings.EnableIPv6 {
		settings.ClusterIPCIDRs = append(settings.ClusterIPCIDRs, "fd00:10:96::/108")
	}
	return settings, nil
}
