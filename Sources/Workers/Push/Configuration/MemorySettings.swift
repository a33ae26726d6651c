import ServiceRuntime

/// The section `memory`: what a push-worker remembers beside its ledger.
struct MemorySettings: Sendable, Hashable {
  let path: String
  /// How long the environment of a device token is remembered.
  let environmentLife: Duration

  init(_ section: ConfigurationSection) {
    path = section.path(
      "path", default: "push-memory.sqlite", "The file, which all push-workers of this host share.")
    environmentLife = .seconds(
      24 * 3600
        * section.integer(
          "environmentDays", default: 180, in: 1...3650,
          "How long the environment of a device token is remembered, for apps that do not say."))
  }
}
