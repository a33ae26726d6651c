import PostgreSQL

/// The statements of `store create` as a text, for an administrator who runs them by hand in a new database.
enum StoreScript {
  static func text(_ roles: StoreRoles, database: String, parts: [PostgreSQLSchemaPart]) -> String {
    let schema = PostgreSQLSchema.name
    return """
      -- Roles, database, schema and tables of Countersign, for psql as a superuser. For a database that has none of them;
      -- only 'countersign store create' brings existing tables up.
      \\set ON_ERROR_STOP on
      \(StoreRoles.create(roles.owner, hasLogin: false));
      \(roles.users.map { StoreRoles.create($0, hasLogin: true) + ";" }.joined(separator: "\n"))
      -- Passwords: \(roles.users.map { "\\password \($0)" }.joined(separator: ", "))
      \(StoreCreation.createDatabase(database, owner: roles.owner));
      \\connect \(database)
      CREATE SCHEMA \(schema) AUTHORIZATION \(roles.owner);
      SET ROLE \(roles.owner);
      SET search_path = \(schema);

      \(PostgreSQLSchema.script(of: parts))

      \(roles.grants.joined(separator: ";\n\n"));
      RESET ROLE;
      """
  }
}
