/// A change by which each requester of a fictional number has a verification of its own.
extension CoordinatorSchema {
  /// Requester, where that tells apart verifications that live; the same text in the index and in what looks them up.
  static let requesterOfFictional = "CASE is_test WHEN 1 THEN requester ELSE x'' END"

  static let fictionalRequesters = """
    DROP INDEX verification_live;
    CREATE UNIQUE INDEX verification_live
      ON verification (phone_number, app, purpose, subject, is_test, \(requesterOfFictional)) WHERE live = 1;
    """
}
