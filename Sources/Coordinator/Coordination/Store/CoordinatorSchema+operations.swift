/// Tables of app proofs, assessments and revocations.
extension CoordinatorSchema {
  // `due_at` is the time at which the maintenance has to process a row: at its end, and then when it may be deleted.
  //
  // These tables contain neither secrets nor tokens, only their hashes under the pepper. The messages of `held_job` are
  // sealed where they carry a secret.
  static let version2 = """
    CREATE TABLE app_proof (
      receipt TEXT NOT NULL PRIMARY KEY,
      version INTEGER NOT NULL,
      state TEXT NOT NULL,
      due_at INTEGER NOT NULL,
      app TEXT NOT NULL,
      token_hash BLOB NOT NULL,
      environment TEXT NOT NULL,
      secret BLOB NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      ended_at INTEGER,
      uses INTEGER NOT NULL,
      push TEXT NOT NULL,
      failure_code TEXT,
      failure_detail TEXT,
      timeline TEXT NOT NULL
    ) STRICT;
    CREATE INDEX app_proof_token ON app_proof (token_hash);
    CREATE INDEX app_proof_due ON app_proof (due_at);

    CREATE TABLE refused_token (
      token_hash BLOB NOT NULL,
      environment TEXT NOT NULL,
      code TEXT NOT NULL,
      detail TEXT,
      expires_at INTEGER NOT NULL,
      PRIMARY KEY (token_hash, environment)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX refused_token_due ON refused_token (expires_at);

    CREATE TABLE held_job (
      command_id TEXT NOT NULL PRIMARY KEY,
      due_at INTEGER NOT NULL,
      messages BLOB NOT NULL
    ) STRICT;
    CREATE INDEX held_job_due ON held_job (due_at);

    CREATE TABLE assessment (
      id TEXT NOT NULL PRIMARY KEY,
      version INTEGER NOT NULL,
      state TEXT NOT NULL,
      due_at INTEGER NOT NULL,
      message_id TEXT NOT NULL,
      token_hash BLOB NOT NULL UNIQUE,
      verification_id TEXT,
      command TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX assessment_message ON assessment (message_id);
    CREATE INDEX assessment_due ON assessment (due_at);

    CREATE TABLE revocation (
      id TEXT NOT NULL PRIMARY KEY,
      version INTEGER NOT NULL,
      state TEXT NOT NULL,
      due_at INTEGER NOT NULL,
      app TEXT NOT NULL,
      token_hash BLOB NOT NULL,
      notice TEXT,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      ended_at INTEGER,
      ending TEXT,
      failure_code TEXT,
      failure_detail TEXT,
      timeline TEXT NOT NULL
    ) STRICT;
    CREATE INDEX revocation_token ON revocation (token_hash, created_at);
    CREATE INDEX revocation_due ON revocation (due_at);
    """
}
