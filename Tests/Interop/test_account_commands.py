"""`countersign account`, `service-account` and `audit`: operators find and change users, and bring them in and out in Firebase's formats.

What an operator is promised, and the test that shows it:
users are found and shown, disabled, signed out, deleted, by whatever is known of them: FindTest, ChangeTest
every act is in the record: AuditTest
users come in from Firebase's own files, JSON and CSV, and go out and in again with all that they have: ImportTest, RoundTripTest
second factors are shown, and go out and in again: SecondFactorTest
an import or export that is killed goes on, says how far it has come, and has every user once: KillTest
"""

import contextlib
import csv
import io
import json
import os
import pathlib
import random
import secrets
import subprocess
import tempfile
import time
import unittest

import account_files
import hash_vectors
import stack
from gateway_client import PASSWORD, PROJECT, Administrator, Assertions, Web, new_email, new_number, send
from identities import ApplePerson, GooglePerson
from process import BINARIES, countersign
from service_accounts import ServiceAccount
from waiting import eventually

IS_LONG = os.environ.get("COUNTERSIGN_TEST_ALL") == "1"
ROWS = 100_000 if IS_LONG else 15_000
KILLS, KILLS_OF_ACCOUNTS = 10, 3
IMPORT_SECONDS = 900
# Longer than a command takes to start and to be due to tell how far it has come, which it notes then: 2 s.
LINE_SECONDS = 3.5
# Exit codes: of a command that did not do all, and of what is wrong in its words.
FAILURE, USAGE = 1, 64
# Columns of a CSV file of Firebase's auth:export, by their place.
CSV_COLUMNS, CSV_GOOGLE, CSV_PHONE = 28, 7, 25
# What a file has of a user, beside identities and hash.
FILE_FIELDS = ["localId", "email", "emailVerified", "displayName", "photoUrl", "phoneNumber", "createdAt", "customAttributes", "disabled"]


def run(*arguments, timeout=180, status=0):
    done = countersign("--json", *arguments, "--project", PROJECT, timeout=timeout)
    if done.returncode != status:
        raise AssertionError(f"{arguments[:2]} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout) if done.stdout.strip() else None


def account(*arguments, **options):
    return run("account", *arguments, **options)


def new_id():
    return f"moved-{secrets.token_hex(8)}"


class CommandTest(Assertions, unittest.TestCase):
    def setUp(self):
        self.web, self.administrator = Web(), Administrator()
        directory = tempfile.TemporaryDirectory(prefix="countersign-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def file(self, name, text):
        path = self.directory / name
        path.write_text(text)
        return str(path)

    def users_file(self, users, name="users.json"):
        return self.file(name, json.dumps({"users": users}))


class FindTest(CommandTest):
    def test_in_every_way(self):
        email, number, google = new_email(), new_number(), GooglePerson()
        user = self.web.sign_up(email)
        google.sign_in(self.web, idToken=user["idToken"])
        other = self.web.sign_in_as(number)
        for options, found in [(["--email", email.upper()], user), (["--id", user["localId"]], user), (["--phone", number], other),
                               (["--identity", f"google.com:{google.subject}"], user)]:
            with self.subTest(options):
                self.assertEqual([one["localID"] for one in account("find", *options)["accounts"]], [found["localId"]])
        both = account("find", "--email", email, "--phone", number)["accounts"]
        self.assertEqual({one["localID"] for one in both}, {user["localId"], other["localId"]})
        self.assertEqual(account("find", "--email", new_email(), status=FAILURE)["accounts"], [])
        shown = account("show", user["localId"])
        self.assertEqual((shown["localID"], shown["email"]), (user["localId"], email))
        # Nothing of a password is shown.
        self.assertNotIn("hash", json.dumps(shown).lower())

    def test_words_that_are_wrong(self):
        for arguments in [["find"], ["find", "--identity", "x"], ["show"], ["claims", "x", "[]"]]:
            with self.subTest(arguments):
                done = countersign("account", *arguments, "--project", PROJECT)
                self.assertGreaterEqual(done.returncode, 2, done.stderr)
        self.assertEqual(countersign("account", "show", "x").returncode, USAGE)
        done = countersign("account", "show", new_id(), "--project", PROJECT)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("account find", done.stderr)


class ChangeTest(CommandTest):
    def test_disabled_enabled_and_signed_out(self):
        email = new_email()
        user = self.web.sign_up(email)
        self.assertIs(account("disable", user["localId"])["disabled"], True)
        self.refused("USER_DISABLED", self.web.sign_in_with_password, email)
        self.refused("USER_DISABLED", self.web.refresh, user["refreshToken"])
        self.assertIs(account("enable", user["localId"])["disabled"], False)
        self.web.refresh(user["refreshToken"])
        time.sleep(1.1)
        account("sign-out", user["localId"])
        self.refused("TOKEN_EXPIRED", self.web.refresh, user["refreshToken"])
        time.sleep(1.1)
        self.web.sign_in_with_password(email)

    def test_claims(self):
        user = self.web.sign_up(new_email())
        account("claims", user["localId"], '{"role": "editor", "level": 3}')
        self.assertEqual(account("claims", user["localId"])["claims"], {"role": "editor", "level": 3})
        claims = self.web.claims(self.web.refresh(user["refreshToken"])["id_token"])
        self.assertEqual((claims["role"], claims["level"]), ("editor", 3))
        for text in ['{"sub": "x"}', json.dumps({"x": "y" * 1000})]:
            self.assertNotEqual(countersign("account", "claims", user["localId"], text, "--project", PROJECT).returncode, 0)
        account("claims", user["localId"], "{}")
        self.assertNotIn("role", self.web.claims(self.web.refresh(user["refreshToken"])["id_token"]))

    def test_deleted(self):
        number = new_number()
        user = self.web.sign_in_as(number)
        self.assertEqual(len(account("delete", user["localId"], status=FAILURE)["refused"]), 1)
        self.web.lookup(user["idToken"])
        self.assertEqual(account("delete", user["localId"], "--force")["refused"], [])
        self.refused("USER_NOT_FOUND", self.web.lookup, user["idToken"])
        self.assertNotEqual(self.web.sign_in_as(number, count=2)["localId"], user["localId"])
        other = self.web.anonymous()
        account("disable", other["localId"])
        self.assertEqual(account("delete", other["localId"])["refused"], [])


class ProviderTest(unittest.TestCase):
    """OpenID Connect providers by the command line."""

    def run_command(self, *arguments, status=0):
        done = countersign("--json", "provider", *arguments, "--project", PROJECT)
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)

    def test_added_listed_replaced_and_removed(self):
        name = f"Test {secrets.token_hex(6)}"
        with tempfile.NamedTemporaryFile("w", suffix=".secret") as file:
            file.write("a secret of a test\n")
            file.flush()
            made = self.run_command("add", name, "--issuer", "https://id.example.org", "--client-id", "web", "--client-id", "ios=app",
                                    "--secret-file", file.name, "--scope", "email", "--auth-domain", "example.org")
        provider = f"oidc.{name.lower().replace(' ', '-')}"
        self.addCleanup(countersign, "provider", "remove", provider, "--project", PROJECT)
        self.assertEqual(made, {"providerID": provider, "returnAddress": "https://example.org/__/auth/handler"})
        [found] = [one for one in self.run_command("list")["providers"] if one["providerID"] == provider]
        self.assertEqual(found["clients"], [{"clientID": "web", "hasSecret": True},
                                            {"clientID": "app", "platform": "ios", "hasSecret": False}])
        self.assertEqual((found["enabled"], found["usesCodeFlow"], found["scopes"]), (True, True, ["email"]))
        self.assertNotIn("a secret", json.dumps(found))
        # Nobody answers at the issuer.
        checked = self.run_command("check", provider, status=1)
        self.assertIn("discovery", [one["check"] for one in checked["findings"] if one["status"] == "failed"])
        self.run_command("add", name, "--issuer", "https://id.example.org", "--client-id", "web", "--replace", "--off")
        [found] = [one for one in self.run_command("list")["providers"] if one["providerID"] == provider]
        self.assertEqual((found["enabled"], found["clients"]), (False, [{"clientID": "web", "hasSecret": True}]))
        self.run_command("remove", provider)
        self.assertNotIn(provider, [one["providerID"] for one in self.run_command("list")["providers"]])
        self.assertIn("error", self.run_command("remove", provider, status=1))


class AuditTest(CommandTest):
    def test_acts_are_noted(self):
        user = self.web.sign_up(new_email())
        account("disable", user["localId"])
        self.administrator.change(user["localId"], disableUser=False)
        account("delete", user["localId"], "--force")
        acts = [act for act in run("audit", "--limit", "200")["acts"] if act.get("localID") == user["localId"]]
        # The latest first; what only reads leaves nothing.
        self.assertEqual([act["act"] for act in acts], ["remove", "change", "change"])
        self.assertEqual({act["project"] for act in acts}, {PROJECT})
        self.assertTrue(all(act["by"] for act in acts))
        self.assertEqual([act["actedAt"] for act in acts], sorted([act["actedAt"] for act in acts], reverse=True))
        text = countersign("audit", "--project", PROJECT).stdout
        self.assertIn(user["localId"], text)
        self.assertLess(text.index("remove"), text.index("change"))

    def test_each_user_of_a_batch_that_is_deleted_is_an_act(self):
        uids = [self.web.anonymous()["localId"] for _ in range(3)]
        self.administrator.call("/accounts:batchDelete", {"localIds": [*uids, new_id()], "force": True})
        acts = [act for act in run("audit", "--limit", "20")["acts"] if act["act"] == "remove"][:3]
        self.assertEqual({act["localID"] for act in acts}, set(uids))

    def test_session_cookies_are_an_act_an_hour(self):
        backend, hour = ServiceAccount(self.addCleanup, "tokens"), int(time.time()) // 3600
        administrator = Administrator(backend.access_token(self.web.url))
        for _ in range(3):
            administrator.call(":createSessionCookie", {"idToken": self.web.anonymous()["idToken"], "validDuration": 300})
        # The rows of an hour are listed behind those within it.
        acts = [act["act"] for act in run("audit", "--limit", "10000")["acts"] if act["by"] == backend.email]
        self.assertEqual(set(acts), {"session.createCookie"})
        self.assertLessEqual(len(acts), 1 + int(time.time()) // 3600 - hour)

    def test_acts_on_the_broker_are_noted(self):
        before = [act for act in run("audit")["acts"] if act["act"] == "dead.drop"]
        dropped = countersign("dead", "drop", "--yes", "--queue", "mail.forget", "--id", new_id())
        self.assertEqual(dropped.returncode, 0, dropped.stderr)
        act = run("audit")["acts"][0]
        self.assertEqual((act["act"], act["subject"]), ("dead.drop", "mail.forget"))
        self.assertNotIn(act, before)
        self.assertIn("mail.forget", countersign("audit").stdout)

    def test_an_import_is_one_act(self):
        users = [{"localId": new_id()} for _ in range(3)]
        account("import", self.users_file(users))
        act = next(act for act in run("audit", "--limit", "20")["acts"] if act["act"] == "import")
        self.assertEqual(act["count"], 3)


class ImportTest(CommandTest):
    def test_hashes_by_the_options_of_firebase(self):
        salt, key, separator = hash_vectors.SALT, hash_vectors.KEY, hash_vectors.SEPARATOR
        made = hash_vectors.firebase_scrypt(PASSWORD.encode(), salt, key, 8, 10, separator)
        email, uid = new_email(), new_id()
        users = self.users_file([{
            "localId": uid, "email": email, "emailVerified": True, "passwordHash": hash_vectors.text(made), "salt": hash_vectors.text(salt),
            "displayName": "Ada", "photoUrl": "https://example.org/a.png", "lastSignedInAt": "1700000000000", "createdAt": "1600000000000",
            "phoneNumber": new_number(), "customAttributes": '{"role": "editor"}', "disabled": False,
            "providerUserInfo": [{"providerId": "google.com", "rawId": secrets.token_hex(8), "email": "ada@gmail.com"}]}])
        answer = account("import", users, "--hash-algo", "SCRYPT", "--hash-key", hash_vectors.text(key), "--salt-separator",
                         hash_vectors.text(separator), "--rounds", "8", "--mem-cost", "10")
        self.assertEqual(answer, {"imported": 1, "refused": 0})
        user = self.web.sign_in_with_password(email)
        self.assertEqual(user["localId"], uid)
        self.assertEqual(self.web.claims(user["idToken"])["role"], "editor")
        shown = self.administrator.user(uid)
        self.assertEqual((shown["createdAt"], shown["displayName"], shown["emailVerified"]), ("1600000000000", "Ada", True))
        self.assertEqual({entry["providerId"] for entry in shown["providerUserInfo"]}, {"google.com", "password", "phone"})

    def test_users_that_are_there_may_stay_as_they_are(self):
        made = hash_vectors.chain("sha256", hash_vectors.SALT + PASSWORD.encode(), 1)
        emails = [new_email(), new_email()]
        users = [{"localId": email, "email": email, "passwordHash": hash_vectors.text(made), "salt": hash_vectors.text(hash_vectors.SALT)}
                 for email in emails]
        options = ["--hash-algo", "SHA256", "--rounds", "1", "--keep-existing"]
        self.assertEqual(account("import", self.users_file(users[:1]), *options), {"imported": 1, "refused": 0, "kept": 0})
        user = self.web.sign_in_with_password(emails[0])
        user = self.web.update(user["idToken"], password="another horse battery", returnSecureToken=True)
        self.assertEqual(account("import", self.users_file(users), *options), {"imported": 1, "refused": 0, "kept": 1})
        self.assertEqual(self.web.sign_in_with_password(emails[0], "another horse battery")["localId"], emails[0])
        self.assertEqual(self.web.refresh(user["refreshToken"])["user_id"], emails[0])
        self.assertEqual(self.web.sign_in_with_password(emails[1])["localId"], emails[1])

    def test_a_csv_file(self):
        """As Firebase's auth:export writes it: 28 columns, no line of names."""
        email, number, uid, subject = new_email(), new_number(), new_id(), secrets.token_hex(8)
        made = hash_vectors.chain("sha256", hash_vectors.SALT + PASSWORD.encode(), 1)
        row = [""] * CSV_COLUMNS
        row[:6] = [uid, email, "true", hash_vectors.text(made), hash_vectors.text(hash_vectors.SALT), 'Ada "the" King, Countess']
        row[CSV_GOOGLE] = subject
        row[CSV_PHONE] = number
        output = io.StringIO()
        csv.writer(output).writerow(row)
        answer = account("import", self.file("users.csv", output.getvalue()), "--hash-algo", "SHA256", "--rounds", "1")
        self.assertEqual(answer, {"imported": 1, "refused": 0})
        shown = self.administrator.user(uid)
        self.assertEqual((shown["displayName"], shown["phoneNumber"]), ('Ada "the" King, Countess', number))
        self.assertEqual(self.web.sign_in_with_password(email)["localId"], uid)
        [found] = self.administrator.find(federatedUserId=[{"providerId": "google.com", "rawId": subject}])
        self.assertEqual(found["localId"], uid)

    def test_rows_that_are_wrong(self):
        taken = new_email()
        self.web.sign_up(taken)
        good = new_id()
        users = [{"localId": new_id(), "email": taken}, {"email": new_email()}, {"localId": new_id(), "email": "none"}, {"localId": good},
                 {"localId": "x" * 129}, {"localId": new_id(), "mfaInfo": [{"phoneInfo": "+14155550123"}]}]
        done = countersign("--json", "account", "import", self.users_file(users), "--project", PROJECT)
        self.assertEqual(done.returncode, FAILURE, done.stderr)
        self.assertEqual(json.loads(done.stdout), {"imported": 1, "refused": 5})
        self.assertEqual(done.stderr.count("line "), 5)
        # Nobody's address is in a log.
        self.assertNotIn(taken, done.stderr)
        self.assertEqual(account("show", good)["localID"], good)

    def test_files_that_are_none(self):
        for name, text in [("users.json", "{"), ("users.json", "[]"), ("users.json", '{"users": [{"localId": "a"}'), ("users.txt", "{}")]:
            done = countersign("account", "import", self.file(name, text), "--project", PROJECT)
            self.assertNotEqual(done.returncode, 0, text)
            self.assertTrue(done.stderr.strip())
        self.assertNotEqual(countersign("account", "import", "/nowhere.json", "--project", PROJECT).returncode, 0)


class RoundTripTest(CommandTest):
    def users(self):
        """One with every way in and claims, one of another system, a disabled one: their IDs, the addresses and people of the first two."""
        email, second = new_email(), new_email()
        user = self.web.sign_up(email, displayName='Ada, "A" King')
        people = [GooglePerson(), ApplePerson()]
        for person in people:
            person.sign_in(self.web, idToken=user["idToken"])
        account("claims", user["localId"], '{"role": "editor"}')
        foreign = f'a/b,"c" {secrets.token_hex(8)}'
        made = hash_vectors.chain("sha512", hash_vectors.SALT + PASSWORD.encode(), 2)
        self.assertEqual(self.administrator.import_users(
            [{"localId": foreign, "email": second, "emailVerified": True, "passwordHash": hash_vectors.text(made),
              "salt": hash_vectors.text(hash_vectors.SALT)}], hashAlgorithm="SHA512", rounds=2), [])
        phone = self.web.sign_in_as(new_number())
        account("disable", phone["localId"])
        return [user["localId"], foreign, phone["localId"]], [email, second], people

    def shown(self, uids):
        """All that a file has of users, and by which providers they sign in."""
        users = [self.administrator.user(uid) for uid in uids]
        return [({name: user.get(name) for name in FILE_FIELDS}, sorted(entry["providerId"] for entry in user.get("providerUserInfo", [])))
                for user in users]

    def remove(self, uids):
        errors = self.administrator.call("/accounts:batchDelete", {"localIds": uids, "force": True}).get("errors")
        self.assertFalse(errors)

    def test_json(self):
        uids, emails, people = self.users()
        before, path = self.shown(uids), self.directory / "all.json"
        exported = account("export", str(path), timeout=IMPORT_SECONDS)
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        users = json.loads(path.read_text())["users"]
        self.assertEqual(exported["exported"], len(users))
        self.assertEqual(len({user["localId"] for user in users}), len(users))
        ours = [user for user in users if user["localId"] in uids]
        self.remove(uids)
        # The second time to the same effect.
        for _ in range(2):
            self.assertEqual(account("import", self.users_file(ours)), {"imported": len(uids), "refused": 0})
            self.assertEqual(self.shown(uids), before)
        self.require_signed_in(uids, emails, people)

    def test_csv(self):
        """It has no algorithms: hashes of each are in a file of their own."""
        uids, emails, people = self.users()
        before, path = self.shown(uids), self.directory / "all.csv"
        account("export", str(path), timeout=IMPORT_SECONDS)
        with open(path, newline="") as file:
            rows = {row[0]: row for row in csv.reader(file) if row[0] in uids}
        self.assertEqual(set(rows), set(uids))
        self.remove(uids)
        account("import", self.csv_file(rows.pop(uids[1])), "--hash-algo", "SHA512", "--rounds", "2")
        account("import", self.csv_file(*([*row[:3], "", "", *row[5:]] for row in rows.values())))
        self.assertEqual([fields for fields, _ in self.shown(uids)], [fields for fields, _ in before])
        self.require_signed_in(uids[1:], emails[1:], [])
        self.require_signed_in(uids, [], people)

    def csv_file(self, *rows):
        output = io.StringIO()
        csv.writer(output).writerows(rows)
        return self.file("users.csv", output.getvalue())

    def require_signed_in(self, uids, emails, people):
        for uid, email in zip(uids, emails):
            self.assertEqual(self.web.sign_in_with_password(email)["localId"], uid)
        for person in people:
            self.assertEqual(person.sign_in(self.web)["localId"], uids[0])

    def test_without_hashes(self):
        user = self.web.sign_up(new_email())
        path = self.directory / "all.json"
        account("export", str(path), "--without-hashes", timeout=IMPORT_SECONDS)
        found = next(one for one in json.loads(path.read_text())["users"] if one["localId"] == user["localId"])
        self.assertFalse({"passwordHash", "salt", "countersignHash"} & set(found))


class SecondFactorTest(CommandTest):
    def user(self, *factors):
        return self.administrator.create(email=new_email(), emailVerified=True, password=PASSWORD, mfaInfo=list(factors))

    def exported(self, uid, name):
        path = self.directory / name
        done = countersign("account", "export", str(path), "--project", PROJECT, timeout=IMPORT_SECONDS)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path, done.stderr

    def test_shown(self):
        number = new_number()
        uid = self.user({"phoneInfo": number, "displayName": "Work"})
        [factor] = account("show", uid)["secondFactors"]
        self.assertEqual((factor["kind"], factor["phoneNumber"], factor["displayName"]), ("phone", number, "Work"))
        text = countersign("account", "show", uid, "--project", PROJECT).stdout
        self.assertIn(factor["enrollmentID"], text)
        self.assertNotIn(number, text)

    def test_out_and_in_again(self):
        uid = self.user({"phoneInfo": new_number(), "displayName": 'Work, "2"'}, {"phoneInfo": new_number()})
        before = self.administrator.user(uid)["mfaInfo"]
        path, _ = self.exported(uid, "all.json")
        ours = [user for user in json.loads(path.read_text())["users"] if user["localId"] == uid]
        self.assertEqual(ours[0]["mfaInfo"], before)
        self.administrator.remove(uid)
        # The second time to the same effect, and over an account that has lost one.
        for _ in range(2):
            self.assertEqual(account("import", self.users_file(ours)), {"imported": 1, "refused": 0})
            self.assertEqual(self.administrator.user(uid)["mfaInfo"], before)
        self.administrator.change(uid, mfa={"enrollments": before[:1]})
        account("import", self.users_file(ours))
        self.assertEqual(self.administrator.user(uid)["mfaInfo"], before)
        # What the file does not name stays.
        ours[0].pop("mfaInfo")
        account("import", self.users_file(ours))
        self.assertEqual(self.administrator.user(uid)["mfaInfo"], before)

    def test_csv_has_none(self):
        uid = self.user({"phoneInfo": new_number()})
        before = self.administrator.user(uid)["mfaInfo"]
        path, said = self.exported(uid, "all.csv")
        self.assertIn("second factors that are left out", said)
        with open(path, newline="") as file:
            [row] = [row for row in csv.reader(file) if row[0] == uid]
        output = io.StringIO()
        csv.writer(output).writerow([*row[:3], "", "", *row[5:]])
        account("import", self.file("users.csv", output.getvalue()))
        self.assertEqual(self.administrator.user(uid)["mfaInfo"], before)

    def test_one_without_a_number_is_counted_and_left_out(self):
        uid = new_id()
        users = [{"localId": uid, "email": new_email(), "emailVerified": True, "mfaInfo": [
            {"mfaEnrollmentId": "app", "totpInfo": {}}, {"mfaEnrollmentId": "work", "phoneInfo": new_number()}]}]
        done = countersign("account", "import", self.users_file(users), "--project", PROJECT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("secrets are not in the file: 1.", done.stderr)
        self.assertEqual([factor["mfaEnrollmentId"] for factor in self.administrator.user(uid)["mfaInfo"]], ["work"])


class KillTest(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(eventually, "all users are gone", cls.reset, IMPORT_SECONDS)

    @staticmethod
    def reset():
        """Whether all is gone, so that other modules do not have to do it: thousands take longer than a call."""
        return send(os.environ["COUNTERSIGN_GATEWAY_URL"], "DELETE", f"/emulator/v1/projects/{PROJECT}/accounts").status == 200

    def big_file(self, mark):
        return account_files.write(self.directory / "users.json", mark, ROWS)

    @staticmethod
    def command(act, path, *options):
        return [BINARIES / "countersign", "--json", "account", act, path, "--project", PROJECT, *options]

    def import_command(self, path):
        return self.command("import", path, *account_files.HASH_OPTIONS)

    @staticmethod
    def rows(path):
        """Rows that an import has noted as done; 0 before it has, and when it is over."""
        try:
            return json.loads(pathlib.Path(f"{path}.import-state").read_text())["rows"]
        except FileNotFoundError:
            return 0

    @contextlib.contextmanager
    def under_way(self, command, has_noted, said):
        """A command that has noted how far it has come, until it is killed. It is not far then: accounts hang until a line is due."""
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              cwd="/") as running:
            try:
                with stack.hanging("accounts"):
                    time.sleep(LINE_SECONDS)
                eventually("it has noted how far it has come", lambda: self.assertIsNone(running.poll()) or has_noted())
                yield running
            finally:
                running.kill()
                _, text = running.communicate()
        self.assertRegex(text, said)

    def import_under_way(self, path):
        """An import that has come further than the one before, behind which it goes on."""
        before = self.rows(path)
        begun = f"going on after row {before}\n" if before else ""
        return self.under_way(
            self.import_command(path), lambda: self.rows(path) > before, rf"\A{begun}\d+ rows, 0 refused, \d+ a second\n")

    def require_every_user_once(self, mark, before):
        self.assertEqual(stack.records("account", "accounts") - before, ROWS)
        path, options = self.directory / "all.json", ["--without-hashes", "--resume"]
        state = self.directory / "all.json.export-state"
        with self.under_way(self.command("export", path, *options), state.exists, r"\A\d+ users\n"):
            # One that would begin anew leaves the files of the other alone.
            second = subprocess.run(self.command("export", path, "--without-hashes"), stdin=subprocess.DEVNULL, capture_output=True,
                                    text=True, cwd="/", timeout=IMPORT_SECONDS, check=False)
            self.assertEqual((second.returncode, "another export writes" in second.stderr), (69, True), second.stderr)
            time.sleep(random.uniform(0.05, 0.2))
        self.assertTrue(state.exists(), "the export was over")
        account("export", str(path), *options, timeout=IMPORT_SECONDS)
        users = [user for user in json.loads(path.read_text())["users"] if user["localId"].startswith(f"{mark}-")]
        self.assertEqual(len(users), ROWS)
        self.assertEqual({user["localId"]: user["email"] for user in users},
                         {f"{mark}-{index}": f"{mark}-{index}@example.org" for index in range(ROWS)})
        for index in [0, ROWS // 2, ROWS - 1]:
            self.assertEqual(self.web.sign_in_with_password(f"{mark}-{index}@example.org")["localId"], f"{mark}-{index}")

    def test_an_import_that_is_killed_goes_on(self):
        mark, before = f"big{secrets.token_hex(4)}", stack.records("account", "accounts")
        path, noted = self.big_file(mark), [0]
        for _ in range(KILLS):
            with self.import_under_way(path):
                time.sleep(random.uniform(0.05, 0.3))
            noted.append(self.rows(path))
        # One import through all kills, each of them further on.
        self.assertEqual(noted, sorted(set(noted)))
        begun = time.monotonic()
        done = subprocess.run(self.import_command(path), stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/",
                              timeout=IMPORT_SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout), {"imported": ROWS, "refused": 0})
        self.assertTrue(done.stderr.startswith(f"going on after row {noted[-1]}\n"), done.stderr)
        print(f"\n  the last {ROWS - noted[-1]} of {ROWS} users took {time.monotonic() - begun:.1f} s", flush=True)
        self.assertEqual(list(self.directory.glob("*.import-state")), [])
        self.require_every_user_once(mark, before)

    def test_accounts_that_are_killed_lose_and_double_nobody(self):
        """Under an import that was killed before, and goes on."""
        self.addCleanup(stack.start, "accounts")
        mark, before = f"kill{secrets.token_hex(4)}", stack.records("account", "accounts")
        path = self.big_file(mark)
        with self.import_under_way(path):
            pass
        with self.import_under_way(path) as running:
            for _ in range(KILLS_OF_ACCOUNTS):
                time.sleep(random.uniform(0.05, 0.3))
                self.assertIsNone(running.poll(), "the import was over before the kill")
                self.restart("accounts")
        answer = account("import", path, *account_files.HASH_OPTIONS, timeout=IMPORT_SECONDS)
        self.assertEqual(answer, {"imported": ROWS, "refused": 0})
        self.require_every_user_once(mark, before)
