"""Users of Apple, Google and Facebook, as apps bring their credentials to the gateway, and many of them while accounts is killed."""

import collections
import concurrent.futures
import contextlib
import hashlib
import http.client
import secrets
import threading
import time

import simulator
from gateway_client import APIError, Web
from page_flow import PageFlow

APP = "com.example.app"
GOOGLE_CLIENT = "100000000001-web.apps.googleusercontent.com"
FACEBOOK_APP = "1234567890123456"
AWAY = (OSError, http.client.HTTPException)
PATIENCE_SECONDS = 180
PAUSE_SECONDS = 0.2
SPENT = ("Duplicate credential", "the provider does not exchange the code")


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


class Person:
    """One user at a provider."""

    provider = None

    def __init__(self, **profile):
        self.subject = secrets.token_hex(16)
        self.profile = profile

    def form(self, **order):
        """What an app gets of the provider: fields of `postBody`."""
        raise NotImplementedError

    def credential(self, **order):
        return {"provider": self.provider, **self.form(**order)}

    def sign_in(self, client, **fields):
        """Signs in with a new credential, or links it, with `idToken`."""
        return sign_in(client, self.credential(), **fields)


class ApplePerson(Person):
    provider = "apple.com"

    def __init__(self, **profile):
        super().__init__(**profile)
        self.subject = f"001234.{self.subject}.0123"

    def form(self, client_id=APP, **order):
        nonce = secrets.token_hex(16)
        token = simulator.apple_id_token(client_id, self.subject, **{"nonce": sha256(nonce), **self.profile, **order})
        return {"id_token": token, "nonce": nonce}


class GooglePerson(Person):
    provider = "google.com"

    def form(self, client_id=GOOGLE_CLIENT, **order):
        return {"id_token": simulator.google_tokens(client_id, self.subject, **{**self.profile, **order})[0]}


class FacebookPerson(Person):
    provider = "facebook.com"

    def form(self, app_id=FACEBOOK_APP, **order):
        return {"access_token": simulator.facebook_tokens(app_id, self.subject, **{**self.profile, **order})[0]}


class LimitedFacebookPerson(FacebookPerson):
    """With the ID token of Limited Login."""

    def form(self, app_id=FACEBOOK_APP, **order):
        nonce = secrets.token_hex(16)
        fields = {"nonce": sha256(nonce), **self.profile, **order}
        return {"id_token": simulator.facebook_tokens(app_id, self.subject, **fields)[1], "nonce": nonce}


class OpenIDPerson(Person):
    """At `oidc.example`, who signs in at the page; `form` is of a token from elsewhere."""

    provider = "oidc.example"

    def form(self, client_id="client-web", **order):
        return {"id_token": simulator.openid_tokens(client_id, self.subject, **{**self.profile, **order})[0]}

    def flow(self, client, client_id="client-web", provider=None, order=None, **fields):
        hint = secrets.token_hex(16)
        user = {"clientID": client_id, "subject": self.subject, **self.profile, **(order or {})}
        simulator.consent("oidc", loginHint=hint, **user)
        flow = PageFlow(client, provider or self.provider, **{"customParameter": {"login_hint": hint}, **fields})
        return flow.consent()

    def sign_in(self, client, **fields):
        return self.flow(client).sign_in(**fields)


def sign_in(client, credential, **fields):
    return client.sign_in_with_idp(**credential, **{"returnIdpCredential": True, **fields})


class Rival:
    """Two anonymous accounts that claim one identity at the same time, each until it is told whose it is."""

    def __init__(self, kind, client, tally):
        self.person, self.client, self.tally = kind(), client, tally
        self.deadline = time.monotonic() + PATIENCE_SECONDS

    def patiently(self, call):
        while True:
            try:
                return call()
            except AWAY:
                self.tally["connections lost"] += 1
            except APIError as error:
                # An Apple token whose answer was lost has counted, and so has a code whose process died. The user gets another.
                if error.status not in {500, 503} and not error.detail.startswith(SPENT):
                    raise
                self.tally[error.code if error.status == 400 else str(error.status)] += 1
            if time.monotonic() > self.deadline:
                raise TimeoutError("a link is not answered")
            time.sleep(PAUSE_SECONDS)

    def run(self):
        users = [self.patiently(self.client.anonymous) for _ in range(2)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            calls = [pool.submit(self.patiently, lambda user=user: self.person.sign_in(self.client, idToken=user["idToken"]))
                     for user in users]
            answers = [call.result() for call in calls]
        linked = [answer["localId"] for answer in answers if "idToken" in answer]
        refused = [answer.get("errorMessage") for answer in answers if "idToken" not in answer]
        if len(linked) != 1 or refused != ["FEDERATED_USER_ID_ALREADY_LINKED"]:
            raise AssertionError(f"one identity was linked {len(linked)} times: {refused}")
        self.require_one_holder(users, linked[0])

    def require_one_holder(self, users, linked):
        holders = []
        for user in users:
            found = self.patiently(lambda user=user: self.client.lookup(user["idToken"]))
            if any(entry["rawId"] == self.person.subject for entry in found.get("providerUserInfo", [])):
                holders.append(found["localId"])
        known = self.patiently(lambda: self.person.sign_in(self.client, autoCreate=False))
        if holders != [linked] or known.get("localId") != linked:
            raise AssertionError(f"the identity is of {holders}, and signs in to {known.get('localId')}, not to {linked}")


def link_under_kills(count, under_way, kills, kinds=(ApplePerson, FacebookPerson)):
    """Has so many identities claimed, or more, each by two accounts, while each of `kills` is called in turn, once at least; what
    happened, counted."""
    tally, over = collections.Counter(), threading.Event()
    problems = []

    def accidents():
        try:
            while not over.is_set():
                for kill in kills:
                    kill()
                    tally["kills"] += 1
                    if over.wait(1):
                        return
        except Exception as error:  # The test tells it.
            problems.append(error)

    thread = threading.Thread(target=accidents, daemon=True)
    with contextlib.ExitStack() as stack, concurrent.futures.ThreadPoolExecutor(under_way) as pool:
        stack.callback(thread.join)
        stack.callback(over.set)
        thread.start()
        pending, begun = set(), 0
        while pending or begun < count or tally["kills"] < len(kills):
            while len(pending) < under_way and (begun < count or tally["kills"] < len(kills)):
                pending.add(pool.submit(lambda index=begun: Rival(kinds[index % len(kinds)], Web(), tally).run()))
                begun += 1
            ended, pending = concurrent.futures.wait(pending, return_when=concurrent.futures.FIRST_COMPLETED)
            # A process that did not start again leaves everybody waiting.
            if error := next(iter(problems), next(filter(None, (call.exception() for call in ended)), None)):
                pool.shutdown(wait=False, cancel_futures=True)
                raise error
    if problems:
        raise problems[0]
    return tally
