/// Changes to what is kept of people.
extension CoordinatorSchema {
  // Counts of numbers, prefixes and addresses stood under themselves, and stand under keyed hashes now, which SQL cannot make: what was
  // counted of them, and of devices, begins anew, once. Counts of regions and of everybody stay.
  static let keyedSubjects = """
    DELETE FROM usage WHERE substr(subject, 1, 1) IN ('n', 'p', 'a', 't');
    ALTER TABLE app_proof ADD COLUMN earlier_token_hash BLOB;
    """

  // What ended is asked about by its token only.
  static let endedAssessments = """
    UPDATE assessment SET command = json_object('app', json_extract(command, '$.app'), 'phoneNumber', '',
      'fingerprint', json_array()) WHERE state <> 'pending';
    """
}
