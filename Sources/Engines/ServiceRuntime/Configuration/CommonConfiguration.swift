public import CountersignCryptography
public import CountersignTelemetry

/// Configuration that every process has.
public struct CommonConfiguration: Sendable {
  /// Address and identity for the broker.
  public let broker: BrokerConfiguration
  /// Events below it are not logged.
  public let logLevel: LogLevel
  /// Format of the log.
  public let logFormat: LogFormat
  /// Address for health and metrics.
  public let http: HTTPConfiguration
  /// The keys that seal and open secrets in messages. `nil` when secrets travel in plaintext.
  public let keys: KeyRing?
  /// Maximum duration of a stop before the rest is ended at once.
  public let stopCeiling: Duration

  /// Address of an HTTP server: that of health and metrics, by the section `http`.
  public struct HTTPConfiguration: Sendable {
    /// The address to listen on.
    public let host: String
    /// The port. 0 for any free one.
    public let port: UInt16
    /// Directory of the socket for the doctor. The unit's state directory if absent.
    public let socketDirectory: String?

    public init(host: String, port: UInt16, socketDirectory: String? = nil) {
      self.host = host
      self.port = port
      self.socketDirectory = socketDirectory
    }
  }

  /// - Parameters:
  ///   - section: the top of the configuration.
  ///   - defaultHTTPPort: the default port for health and metrics; each process has its own.
  public init(_ section: ConfigurationSection, defaultHTTPPort: UInt16) {
    broker = BrokerConfiguration(section.section("broker"))
    let log = section.section("log")
    logLevel = log.word("level", default: .info, "Events below it are not logged.")
    logFormat = log.word("format", default: .text, "text for people, json for machines.")
    let http = section.section("http")
    self.http = HTTPConfiguration(
      host: http.string(
        "host", default: "127.0.0.1", "The address on which health and metrics are served; 0.0.0.0 for all."),
      port: UInt16(
        http.integer(
          "port", default: Int(defaultHTTPPort), in: 0...65_535,
          "The port on which health and metrics are served; 0 for any that is free.")),
      socketDirectory: http.path(
        "socketDirectory",
        "The directory of the Unix socket that tells the doctor paths and check values; the unit's STATE_DIRECTORY if absent."
      ))
    keys = Self.readKeys(section)
    stopCeiling = section.section("stop").seconds(
      "ceilingSeconds", default: .seconds(20), in: .seconds(1)...(.seconds(600)),
      "How long a stop may take before what is left is ended at once.")
  }

  private static func readKeys(_ section: ConfigurationSection) -> KeyRing? {
    let text = section.secretFile(
      "keysFile", "The keys that seal secrets in messages, a JWK set: the first seals, all open.")
    let requireSealed = section.bool(
      "requireSealed", default: false, "Whether secrets that messages bring in the clear are refused.")
    guard let text else {
      section.check(
        "requireSealed", !requireSealed || section.isGiven("keysFile"),
        "is true without keysFile, so nothing could be opened")
      return nil
    }
    var keys = section.keyRing("keysFile", text)
    keys?.requiresSealing = requireSealed
    return keys
  }
}

extension ConfigurationSection {
  /// The keys of a JWK set. `nil` for an empty text, which its reader reports, and with a problem.
  public func keyRing(_ key: String, _ text: Secret) -> KeyRing? {
    if text.isEmpty { return nil }
    do { return try KeyRing(jwkSet: Array(text.reveal().utf8)) } catch {
      problem(key, "holds no usable keys: \(error.message); make some with: countersign keys generate")
      return nil
    }
  }
}

/// The configuration of a process that runs until it is stopped.
public protocol ProcessConfiguration: Configuration {
  /// Configuration that every process has.
  var common: CommonConfiguration { get }
}
