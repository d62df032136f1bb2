-- Keys that a browser uses without holding them.

create table loci_data.browser_sessions (
    fingerprint bytea primary key generated always as (substr(sha256(hash), 1, 8)) stored,
    hash        bytea not null,
    key_id      uuid not null references loci_data.api_keys on delete cascade,
    created_at  timestamptz not null default now(),
    expires_at  timestamptz not null,
    constraint browser_sessions_hash_check check (octet_length(hash) = 32)
);
create index browser_sessions_key_id on loci_data.browser_sessions (key_id, created_at);
create index browser_sessions_expires_at on loci_data.browser_sessions (expires_at);

comment on table loci_data.browser_sessions is
    'Sessions of browsers: each stands for the key that it was made with, and is worth nothing without it.';
comment on column loci_data.browser_sessions.fingerprint is
    'Start of the SHA-256 of hash: what a session is looked up by, which says nothing of its token.';
comment on column loci_data.browser_sessions.hash is 'SHA-256 of the token, with something in front that no key has.';
comment on column loci_data.browser_sessions.key_id is 'The key; the session may do what it may, and ends with it.';
comment on column loci_data.browser_sessions.created_at is 'When it began.';
comment on column loci_data.browser_sessions.expires_at is 'It is refused from this moment on.';
