import FoundationEssentials

struct ProcessAddress: Sendable, Hashable {
  let name: String
  let url: String
  /// Whether it is configured or enabled, so that its absence is a failure.
  let isExpected: Bool

  static let defaultPorts: KeyValuePairs = [
    "coordinator": 8080, "sms-worker": 8081, "push-worker": 8082, "revocation-worker": 8083, "mail-worker": 8084,
    "accounts": 8085, "gateway": 8086, "webhook-worker": 8087,
  ]

  /// Directory of systemd in which enabled units have links.
  static let units = "/etc/systemd/system"

  /// Addresses that the command line's configuration names. For other processes with a configuration file, the port of
  /// that file on this machine.
  static func all(
    _ configured: [(name: String, urls: [String])], _ files: ConfigurationFiles?, units: String = units
  ) -> [ProcessAddress] {
    let enabled = enabledUnits(units)
    return defaultPorts.flatMap { name, port -> [ProcessAddress] in
      let urls = configured.filter { $0.name == name }.flatMap(\.urls)
      guard urls.isEmpty else { return urls.map { ProcessAddress(name: name, url: $0, isExpected: true) } }
      guard let file = files?.files.first(where: { $0.name == "\(name).json5" }) else { return [] }
      let isEnabled = enabled.contains { $0.hasPrefix("countersign-\(name)") }
      let own = file.integers["http.port"].map(Int.init) ?? port
      let host = file.settings?.first { $0.path == "http.host" }?.value ?? "127.0.0.1"
      let reached = ["0.0.0.0", "::"].contains(host) ? "127.0.0.1" : host.contains(":") ? "[\(host)]" : host
      return [ProcessAddress(name: name, url: "http://\(reached):\(own)", isExpected: isEnabled)]
    }
  }

  private static func enabledUnits(_ directory: String) -> [String] {
    // Without systemd nothing is enabled.
    let wanting = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    return wanting.filter { $0.hasSuffix(".wants") }.flatMap {
      (try? FileManager.default.contentsOfDirectory(atPath: "\(directory)/\($0)")) ?? []
    }
  }
}
