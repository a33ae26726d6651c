/// Migrations of stored personal data.
extension CoordinatorSchema {
  // Counts of numbers, prefixes and addresses were stored under their plain names, and are now stored under keyed
  // hashes, which SQL cannot make: their counts, and those of devices, start from zero once. Counts of regions and of
  // all callers stay.
  static let keyedSubjects = """
    DELETE FROM usage WHERE substr(subject, 1, 1) IN ('n', 'p', 'a', 't');
    ALTER TABLE app_proof ADD COLUMN earlier_token_hash BLOB;
    """

  // A finished assessment is looked up by its token only.
  static let endedAssessments = """
    UPDATE assessment SET command = json_object('app', json_extract(command, '$.app'), 'phoneNumber', '',
      'fingerprint', json_array()) WHERE state <> 'pending';
    """
}
