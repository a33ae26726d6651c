/// A value from a table, with the version that guards its update.
struct Stored<Content: Sendable>: Sendable {
  var content: Content
  let version: Int
}
