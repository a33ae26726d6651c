/// Says why a server has closed a connection on which it was not asked anything.
public enum HTTPServerTurnedAway: String, Sendable, CaseIterable {
  /// The client has as many connections as one client may have.
  case client
  /// The request, or the taking of its answer, took too long.
  case late
}
