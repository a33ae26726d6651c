package import CountersignTelemetry
import ServiceRuntime

/// Clients that the pages of the simulated identity providers know.
package struct PageSettings: Sendable {
  /// Addresses that every client has registered. Without them each page refuses everything.
  package var redirectURIs: Set<String> = []
  /// Secrets by client ID.
  package var openID = ["simulated-client": Secret("simulated-client-secret")]
  package var google: [String: Secret] = [:]

  mutating func read(_ section: ConfigurationSection) {
    redirectURIs = Set(
      section.strings("redirectURIs", "The addresses that the pages of identity providers may lead back to."))
    let openID = Self.clients(section, "openID", "Clients at the OpenID provider, by their IDs.")
    if !openID.isEmpty { self.openID = openID }
    google = Self.clients(section, "google", "Clients at Google's page, by their IDs.")
  }

  private static func clients(_ section: ConfigurationSection, _ key: String, _ help: String) -> [String: Secret] {
    var clients: [String: Secret] = [:]
    for (id, client) in section.namedSections(key, help) {
      clients[id] = client.requiredSecretFile("secretFile", "The file with the client's secret.")
    }
    return clients
  }
}
