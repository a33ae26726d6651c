/// What was read from a table, with the version that its update is guarded by.
struct Stored<Content: Sendable>: Sendable {
  var content: Content
  let version: Int
}
