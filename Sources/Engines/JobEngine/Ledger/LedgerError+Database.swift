import SQLite

extension LedgerError {
  init(_ error: DatabaseError) {
    self.init(error.description, isRetriable: error.isRetriable)
  }
}
