import CountersignAMQP

/// Checks that each host of a list takes connections, and that all are one broker.
enum BrokerHostsCheck {
  struct State {
    let host: BrokerHost
    /// Name of the cluster, if the host tells it.
    let outcome: Result<String?, CommandLineError>
  }

  static func findings(_ states: [State]) -> [Finding] {
    let failures = states.compactMap { state -> Finding? in
      guard case .failure(let error) = state.outcome else { return nil }
      return Finding(
        "broker host \(state.host)", .warning, error.description, hint: hint(error.code))
    }
    return failures + cluster(states)
  }

  private static func hint(_ code: CommandLineError.Code) -> String {
    switch code {
    case .unavailable:
      "start the node, fix its certificate, or take it from the list: each attempt at it costs up to 3 s"
    default: "it runs, but as another broker would: nodes of one cluster have the same users and virtual hosts"
    }
  }

  private static func cluster(_ states: [State]) -> [Finding] {
    let check = "hosts of the broker"
    let named = states.compactMap { state -> (host: BrokerHost, cluster: String)? in
      guard case .success(let name?) = state.outcome else { return nil }
      return (state.host, name)
    }
    guard let first = named.first else { return [] }
    guard let other = named.first(where: { $0.cluster != first.cluster }) else {
      return [Finding(check, .ok, "\(named.count) of \(states.count) answer, as one cluster")]
    }
    return [
      Finding(
        check, .failed,
        "\(first.host) is of the cluster '\(first.cluster)', \(other.host) of '\(other.cluster)': messages are in one or the other",
        hint: "join the nodes to one cluster (rabbitmqctl join_cluster), or correct the list")
    ]
  }
}
