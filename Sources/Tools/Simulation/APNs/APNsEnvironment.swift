/// The two environments of APNs. A device token belongs to one of them.
enum APNsEnvironment: String, Sendable, Decodable {
  case production
  case sandbox

  /// The environment of a host: `api.sandbox.push…` and `api.development.push…` are the sandbox, whatever follows.
  init(host: String) {
    let labels = host.lowercased().split(separator: ".")
    self = labels.contains("sandbox") || labels.contains("development") ? .sandbox : .production
  }
}
