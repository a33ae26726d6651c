import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import HTTPClient

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

extension LiveBackend {
  /// Connects as a service, and tries to publish a command, with a routing key that leads nowhere.
  func service() async -> [Finding] {
    let check = "broker, as a service"
    do {
      let endpoint = try configuration.service.endpoint()
      let connection = try await open(endpoint)
      let outcome = await Self.probePublishing(connection)
      let place = await connection.host.map { endpoint.at($0) } ?? endpoint
      await Self.close(connection)
      switch outcome {
      case .success: return [Finding(check, .ok, "\(place) accepts commands")]
      case .failure(let error):
        return [Self.refused(check, error, user: endpoint.username)]
      }
    } catch {
      return [Self.refused(check, error, user: "service")]
    }
  }

  /// Processes pass over one that fails, so that nothing else tells of it.
  func brokerHosts() async -> [BrokerHostsCheck.State] {
    // The check of the service reports an unknown address.
    guard let endpoint = try? configuration.service.endpoint(), endpoint.hosts.count > 1 else { return [] }
    let states = await withTaskGroup(of: BrokerHostsCheck.State.self) { group in
      for host in endpoint.hosts { group.addTask { await state(of: host, endpoint) } }
      return await group.reduce(into: [:]) { $0[$1.host] = $1 }
    }
    return endpoint.hosts.compactMap { states[$0] }
  }

  /// Longer than processes wait.
  private static let hostTimeout: Duration = .seconds(5)

  private func state(of host: BrokerHost, _ endpoint: BrokerEndpoint) async -> BrokerHostsCheck.State {
    do {
      let connection = try await open(endpoint.at(host), within: Self.hostTimeout)
      let name = await connection.serverProperties["cluster_name"]?.stringValue
      await Self.close(connection)
      return BrokerHostsCheck.State(host: host, outcome: .success(name))
    } catch {
      return BrokerHostsCheck.State(host: host, outcome: .failure(error))
    }
  }

  private static func probePublishing(_ connection: AdminConnection) async -> Result<Void, CommandLineError> {
    var message = Message()
    message.isPersistent = false
    message.appID = appID
    do {
      _ = try await connection.publish(
        Publication(message: message, exchange: Topology.Exchanges.commands, routingKey: "doctor.probe"))
      return .success(())
    } catch {
      return .failure(CommandLineError(error))
    }
  }

  func operatorUser() async -> [Finding] {
    let check = "broker, as the operator"
    do {
      let endpoint = try configuration.operatorUser.endpoint()
      let connection = try await open(endpoint)
      let place = await connection.host.map { endpoint.at($0) } ?? endpoint
      await Self.close(connection)
      return [Finding(check, .ok, "\(place)")]
    } catch {
      return [Self.refused(check, error, user: "operator")]
    }
  }

  /// A broker that does not answer explains much else. One that refuses this user, nothing.
  private static func refused(_ check: String, _ error: CommandLineError, user: String) -> Finding {
    let isDown = error.code == .unavailable
    return Finding(
      check, .failed, error.description, hint: hint(error.code, user: user), about: isDown ? .broker : nil,
      needs: isDown ? [[.broker]] : error.code == .refused ? [[.topology]] : [])
  }

  static func hint(_ code: CommandLineError.Code, user: String) -> String {
    switch code {
    case .notPermitted:
      "rabbitmqctl change_password \(user) …, and the rights of Config/rabbitmq/definitions.json (rabbitmqctl set_permissions)"
    case .configuration: "set the missing variable; countersign --help lists them"
    case .refused: "countersign topology apply"
    default: "start the broker, or correct its address; a firewall may block the connection"
    }
  }
}
