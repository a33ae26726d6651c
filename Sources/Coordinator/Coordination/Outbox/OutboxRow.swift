/// The messages of one transaction.
struct OutboxRow: Sendable, Hashable {
  /// Its key in the table.
  var number: Int
  var messages: [OutgoingMessage]
}
