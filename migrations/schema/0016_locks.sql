-- What transactions wait for each other at: rows that only functions of the owner can lock. An advisory lock can be
-- taken by every login of the database, and held for as long as it likes.

-- Something of a namespace that one may hold alone, or several together: each of them one of its rows.
create table loci_data.namespace_locks (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    name         text not null,
    slot         smallint not null,
    primary key (namespace_id, name, slot)
);

-- Something of a namespace that one does at a time. Always empty (see loci_internal.take_turn), so it needs no log.
create unlogged table loci_data.turn_locks (
    namespace_id integer not null,
    at           bytea not null,
    primary key (namespace_id, at)
);
alter table loci_data.turn_locks
    set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Something that one does at a time in the whole database.
create table loci_data.service_locks (
    name text primary key
);

comment on table loci_data.namespace_locks is
    'What is locked in a namespace, alone (all its rows) or together with others (one each).';
comment on column loci_data.namespace_locks.namespace_id is 'The namespace.';
comment on column loci_data.namespace_locks.name is
    'hierarchy, postings (of the lexical index), worker (background work), or rates and their version.';
comment on column loci_data.namespace_locks.slot is
    'One of the places of those who hold it together; 0: of who wants it alone.';
comment on table loci_data.turn_locks is
    'What is done by one transaction at a time in a namespace. Rows are gone before they are seen.';
comment on column loci_data.turn_locks.namespace_id is 'The namespace.';
comment on column loci_data.turn_locks.at is 'SHA-256 of what it is.';
comment on table loci_data.service_locks is 'What is done by one transaction at a time in the whole database.';
comment on column loci_data.service_locks.name is
    'changes (giving them their places), ranges (of the lexical index) or sweep (of the operations log).';

insert into loci_data.service_locks (name) values ('changes'), ('ranges'), ('sweep');
insert into loci_data.namespace_locks (namespace_id, name, slot)
select n.id, k.name, s.slot
from loci_data.namespaces n
cross join unnest(array['hierarchy', 'postings', 'worker', 'rates 0']) k(name)
cross join generate_series(0, 16) s(slot);
