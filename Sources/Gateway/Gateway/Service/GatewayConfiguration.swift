import CountersignAMQP
import CountersignCryptography
import CountersignEncoding
import FoundationEssentials
import Projects
public import ServiceRuntime

/// Configuration of the gateway. `Config/gateway.json5` explains every key.
public struct GatewayConfiguration: ProcessConfiguration {
  /// Broker, logs, health, keys, stop.
  public let common: CommonConfiguration
  let listen: ListenSettings
  let proxies: TrustedProxies
  let projects: ProjectsDirectory
  let accountsKeys: PublicSealingKeys?
  let isDevelopment: Bool
  let simulatorURL: String?

  /// Maximum size of the file with the public keys of `accounts`: dozens of keys.
  private static let maxKeysBytes = 64 * 1024

  /// Reads the configuration. Problems are reported to the section.
  public init(_ section: ConfigurationSection) {
    common = CommonConfiguration(section, defaultHTTPPort: 8086)
    isDevelopment = section.bool(
      "development", default: false,
      "Whether clients on this machine may empty accounts and read codes; the gateway then listens on loopback only.")
    listen = ListenSettings(section.section("listen"), health: common.http, isDevelopment: isDevelopment)
    proxies = Self.proxies(section)
    projects = ProjectsDirectory(section, isDevelopment: isDevelopment)
    accountsKeys = Self.accountsKeys(section)
    simulatorURL = section.optionalURL(
      "simulatorURL", crossing: "codes",
      "The simulator's address, asked for the codes it was sent; with development only: http://127.0.0.1:8090.")
    section.check(
      "simulatorURL", simulatorURL == nil || isDevelopment, "has no use without development; take it out")
    guard !LocalHost.contains(listen.address.host), proxies.ranges.allSatisfy(\.isLoopback) else { return }
    section.warning(
      "trustedProxies",
      "names no proxy of another machine, and the gateway listens beyond loopback without TLS: limits then count the address of the proxy; name the proxy that ends TLS, or listen on 127.0.0.1 behind one"
    )
  }

  private static func proxies(_ section: ConfigurationSection) -> TrustedProxies {
    let texts = section.strings(
      "trustedProxies", default: ["127.0.0.0/8", "::1"],
      "Addresses and ranges of proxies that are believed when X-Forwarded-For tells the client's address.")
    let ranges = texts.enumerated().compactMap { index, text -> AddressRange? in
      let place = "trustedProxies.\(index)"
      guard let range = AddressRange(text) else {
        section.problem(place, "must be an address or a range: 10.0.0.7, 10.0.0.0/24, 2001:db8::/64")
        return nil
      }
      guard !range.isTooLarge else {
        section.problem(
          place, "holds clients, too, who could then call themselves any address; name the proxies alone")
        return nil
      }
      return range
    }
    return TrustedProxies(ranges: ranges)
  }

  func describe(_ report: inout RuntimeReport, _ source: ProjectsSource) {
    report.keys.sealsTo = accountsKeys?.sealing?.id
    report.projects = source.current.appsByProject
    report.isDevelopment = isDevelopment
    if let key = accountsKeys?.sealing {
      report.guarded?.checkValues += CheckValue.all([key], file: "sealingKeysFile")
    }
  }

  private static func accountsKeys(_ section: ConfigurationSection) -> PublicSealingKeys? {
    let path = section.path(
      "accountsKeysFile", default: "accounts-public-keys.json",
      "The public keys of accounts, a JWK set: the first seals what it alone may read.")
    guard let content = try? Data(contentsOf: URL(filePath: path)), content.count <= maxKeysBytes else {
      section.problem("accountsKeysFile", "\(path) cannot be read; write it with: countersign keys public")
      return nil
    }
    do throws(JOSEError) {
      let keys = try PublicSealingKeys(jwkSet: Array(content))
      section.check("accountsKeysFile", keys.sealing != nil, "\(path) holds no key")
      return keys
    } catch {
      section.problem("accountsKeysFile", "\(path) holds no usable public keys: \(error.message)")
      return nil
    }
  }
}

/// The section `listen`: the port for clients, plain HTTP behind a proxy that ends TLS.
struct ListenSettings: Sendable {
  let address: CommonConfiguration.HTTPConfiguration
  let connections: Int
  let connectionsPerClient: Int
  /// Requests of each class that are answered at a time.
  let maxInFlight: Int
}

extension ListenSettings {
  /// Default of `connectionsPerClient` beyond loopback.
  private static let usualConnectionsPerClient = 128

  /// The highest `requestsInFlight`: all classes together then still have fewer than the unanswered commands that the
  /// connection to the broker keeps.
  private static let mostInFlight = RequestClient.defaultMaxOutstanding / (CallClass.allCases.count + 1)

  init(_ section: ConfigurationSection, health: CommonConfiguration.HTTPConfiguration, isDevelopment: Bool) {
    address = CommonConfiguration.HTTPConfiguration(
      host: section.string(
        "host", default: "127.0.0.1", "The address on which clients are answered, without TLS; 0.0.0.0 for all."),
      port: UInt16(
        section.integer(
          "port", default: 9099, in: 0...65_535, "The port on which clients are answered; 0 for any that is free.")))
    connections = section.integer(
      "connections", default: 7_168, in: 16...65_535, "Open connections; further clients wait.")
    let perClient = section.optionalInteger(
      "connectionsPerClient", in: 1...65_535,
      "Open connections of one client; trusted proxies, which pass on those of many, are not limited so. Absent: all on loopback, else \(Self.usualConnectionsPerClient)."
    )
    maxInFlight = section.integer(
      "requestsInFlight", default: 512, in: 1...Self.mostInFlight,
      "Requests that are answered at a time in each class of calls: those that wait for the coordinator, for identity providers, for the hashing of passwords, for accounts, those of administrators, verifications of servers, those that wait for nothing; further ones get 503 at once."
    )
    let least = CallPlaces.connectionsPerPlace * CallClass.allCases.count * maxInFlight
    section.check(
      "connections", connections >= least,
      "must be at least \(least), \(CallPlaces.connectionsPerPlace) for each of the \(maxInFlight) requestsInFlight of \(CallClass.allCases.count) classes: else further calls wait for a connection instead of being refused at once"
    )
    let isLocal = LocalHost.contains(address.host)
    connectionsPerClient = perClient ?? (isLocal ? connections : Self.usualConnectionsPerClient)
    section.check(
      "host", isLocal || !isDevelopment,
      "is not loopback, and with development codes could be read from the network: use 127.0.0.1, or set development to false"
    )
    section.check(
      "port", address.port == 0 || address.port != health.port || address.host != health.host,
      "is also the port of health and metrics (http.port), which clients must not reach: give this one another")
  }
}
