import Projects

/// Everything that decides on a command, apart from the store.
struct AccountRules: Sendable {
  /// May change while the process runs.
  let projects: ProjectsSource
  let fictionalRefusals = FictionalRefusals()
  var sessions = SessionRules()
  var keys = SigningKeyRules()
  /// Whether tests may delete everything, and limits of addresses are wide.
  var isDevelopment = false
  var limits = Limits()
  /// Passwords that are hashed at a time, each with 19 MiB and a core.
  var hashingThreads = 2
  /// Passwords that wait for one of them: as many as are hashed well within a stage.
  static let hashingPlaces = 64
  /// Maximum age of a command that is carried out: apps give up, and ask again.
  var maxCommandAge = Duration.seconds(30)
  /// Time for which a redelivered command gets the same reply.
  var inboxRetention = Duration.seconds(3600)
  /// Users of the broker whose commands are carried out.
  var requesters = Self.defaultRequesters

  /// Audiences of the assertions of service accounts.
  var tokenURIs = Self.defaultTokenURIs

  /// Users of the broker whose commands for operators are carried out.
  var operators = Self.defaultOperators

  static let defaultRequesters: Set<String> = ["gateway"]
  static let defaultOperators: Set<String> = ["operator"]
  /// Those that libraries write, whatever the key file of the service account says.
  static let defaultTokenURIs: Set<String> = [
    "https://oauth2.googleapis.com/token", "https://www.googleapis.com/oauth2/v4/token",
    "https://accounts.google.com/o/oauth2/token",
  ]

  init(projects: ProjectsSource) {
    self.projects = projects
  }
}

struct SessionRules: Sendable, Hashable {
  /// Time without a refresh after which a session ends.
  var unusedFor = Duration.seconds(180 * 86_400)
  /// One more ends the oldest.
  var perAccount = Self.maxPerAccount
  /// Interval at which the last refresh is noted, so that most refreshes write nothing.
  var notedEvery = Duration.seconds(3600)

  static let maxPerAccount = 100

  init() {}
}

struct SigningKeyRules: Sendable, Hashable {
  var rotatedAfter = Duration.seconds(30 * 86_400)
  /// Time for which verifiers may cache the keys.
  var maxAge = Duration.seconds(3600)

  /// Slack for clocks and caches on the way.
  static let slack = Duration.seconds(300)

  /// Time for which a key is published before it signs.
  var lead: Duration { maxAge + Self.slack }

  init() {}
}
