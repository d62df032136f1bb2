-- How much a key may ask for, and what it was used for.

-- What is left of each allowance. Unlogged: after a crash of the server all begin full again.
create unlogged table loci_data.rate_buckets (
    bucket      uuid primary key,
    tokens      double precision not null,
    refilled_at timestamptz not null
) with (fillfactor = 50);
alter table loci_data.rate_buckets set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

create table loci_data.key_uses (
    id           bigint generated always as identity primary key,
    namespace_id integer references loci_data.namespaces on delete cascade,
    key_id       uuid references loci_data.api_keys on delete cascade,
    hour         timestamptz not null,
    address      inet,
    outcome      text not null,
    requests     bigint not null,
    first_at     timestamptz not null,
    last_at      timestamptz not null,
    constraint key_uses_use unique nulls not distinct (key_id, namespace_id, hour, address, outcome),
    constraint key_uses_outcome_check check (outcome in ('answered', 'refused', 'limited', 'unauthorized')),
    constraint key_uses_requests_check check (requests > 0)
) with (fillfactor = 80);
create index key_uses_namespace on loci_data.key_uses (namespace_id, hour);

comment on table loci_data.rate_buckets is
    'Token buckets of keys with a rate limit, shared by all processes of the service. Written by '
    'loci_api.lease_requests.';
comment on column loci_data.rate_buckets.bucket is 'As in api_keys.';
comment on column loci_data.rate_buckets.tokens is 'Requests that may still be sent at the moment refilled_at.';
comment on column loci_data.rate_buckets.refilled_at is
    'Up to when the bucket was refilled, by the clock of the server.';
comment on table loci_data.key_uses is
    'What keys were used for: requests counted by key, namespace, hour, address and outcome. Kept for setting '
    'key_use_days.';
comment on column loci_data.key_uses.id is 'Number of the row; grows with the first use of its kind in its hour.';
comment on column loci_data.key_uses.namespace_id is
    'The namespace; null: none was asked for, or none that the key reaches.';
comment on column loci_data.key_uses.key_id is 'The key; null: one that is unknown, expired or revoked.';
comment on column loci_data.key_uses.hour is 'Beginning of the hour.';
comment on column loci_data.key_uses.address is
    'Where the requests came from, of IPv6 the first 64 bits; null: not known, or one of too many at once.';
comment on column loci_data.key_uses.outcome is
    'answered; refused (the role or scope does not allow it); limited (more than its rate limit); unauthorized (no '
    'valid key).';
comment on column loci_data.key_uses.requests is 'How many.';
comment on column loci_data.key_uses.first_at is 'When the first of them was counted.';
comment on column loci_data.key_uses.last_at is 'When the last of them was counted.';
