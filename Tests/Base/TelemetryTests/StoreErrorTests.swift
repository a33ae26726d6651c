import CountersignTelemetry
import Testing

@Suite struct StoreErrorTests {
  @Test(
    arguments: [
      (.content, .content, false), (.constraint, .content, false), (.uniqueConstraint, .content, false),
      (.tooLarge, .content, false), (.taken, .content, false), (.statement, .doubtful, false),
      (.unexpectedResult, .doubtful, false), (.misuse, .content, false), (.notLoaded, .doubtful, false),
      (.conflict, .doubtful, true), (.deadlock, .doubtful, true), (.serialization, .doubtful, true),
      (.uniqueViolation, .doubtful, false), (.busy, .store, true), (.overloaded, .store, true),
      (.statementTimeout, .store, true), (.lockTimeout, .store, true), (.rolledBack, .store, true),
      (.unreachable, .store, true), (.connectionLost, .store, true), (.shuttingDown, .store, true),
      (.loginRefused, .store, false), (.tlsRefused, .store, false), (.readOnly, .store, true), (.full, .store, true),
      (.io, .store, true), (.outOfMemory, .store, true), (.outOfResources, .store, true), (.damaged, .store, false),
      (.notADatabase, .store, false), (.permission, .store, false), (.notPermitted, .store, false),
      (.schema, .store, false), (.otherKind, .store, false), (.newerSchema, .store, false), (.closed, .store, false),
    ] as [(StoreError.Code, StoreError.Fault, Bool)])
  func `A code tells whose fault it is, and whether to try again`(
    code: StoreError.Code, fault: StoreError.Fault, isRetriable: Bool
  ) {
    let error = StoreError(code, "x")
    #expect(error.fault == fault && error.isRetriable == isRetriable)
    #expect(error.description == "x (\(code))")
  }

  @Test func `Competition and load are no outage`() {
    for code in [StoreError.Code.busy, .lockTimeout, .statementTimeout, .overloaded, .content, .conflict] {
      #expect(!StoreError(code, "x").isOutage)
    }
    for code in [StoreError.Code.full, .io, .unreachable, .schema] { #expect(StoreError(code, "x").isOutage) }
  }

  @Test func `A commit with an unknown end is a fault of the store`() {
    var error = StoreError(.deadlock, "x")
    error.isCommitUnknown = true
    #expect(error.fault == .store)
  }

  @Test func `A misuse that SQLite reports may be about the connection`() {
    #expect(StoreError(.misuse, "x", sqliteCode: 21).fault == .doubtful)
  }

  @Test func `A description names the code of the database`() {
    #expect(StoreError(.statement, "x", sqliteCode: 1).description == "x (statement, SQLite 1)")
    #expect(StoreError(.readOnly, "x", sqlState: "25006").description == "x (readOnly, SQLSTATE 25006)")
  }
}
