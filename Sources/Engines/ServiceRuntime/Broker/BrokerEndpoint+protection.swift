public import CountersignAMQP

extension BrokerEndpoint {
  /// Whether the traffic can be read on the way: no TLS, and at least one host is another machine.
  public var isUnprotected: Bool { tls == nil && !hosts.allSatisfy { LocalHost.contains($0.name) } }
}
