/// Migration to one verification for each requester of a fictional number.
extension CoordinatorSchema {
  /// Requester, where it distinguishes live verifications; the same text in the index and in the queries that use it.
  static let requesterOfFictional = "CASE is_test WHEN 1 THEN requester ELSE x'' END"

  static let fictionalRequesters = """
    DROP INDEX verification_live;
    CREATE UNIQUE INDEX verification_live
      ON verification (phone_number, app, purpose, subject, is_test, \(requesterOfFictional)) WHERE live = 1;
    """
}
