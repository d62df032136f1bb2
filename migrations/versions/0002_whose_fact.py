"""Whose fact a memory is: its subject, the users that keys speak for, and exact repetitions by category.

Revision ID: 0002
Revises: 0001
"""

from typing import LiteralString

from alembic import op

from migrations.schema_files import execute

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# None of the columns is filled: null says what was true of every row before.
UPGRADE: LiteralString = """
set role loci_owner;
alter type loci.memory_details add attribute about text;
alter type loci.memory_record add attribute about text;
alter type loci_internal.memory_filter add attribute about text[];
alter type loci_internal.memory_filter add attribute party text;
alter type loci_api.fact_candidate add attribute same_subject boolean;
alter type loci_api.fact_candidate add attribute in_common text;
alter type loci_api.fact_decision add attribute unsettled jsonb;
create type loci_internal.asked_of as (names text[], words text[], first boolean, party text, object boolean);
comment on type loci_internal.asked_of is 'Of whom a question asks: see loci_internal.whom_is_asked.';
alter table loci_data.memories add column about text;
alter table loci_data.memories add constraint memories_about_check check (length(about) between 1 and 255);
comment on column loci.memory_details.about is 'Whom or what it is about, by name; null: nobody said so.';
comment on column loci.memory_record.about is 'Whom or what it is about, by name; null: nobody said so.';
comment on column loci_data.memories.about is 'Whom or what it is about, by name; null: nobody said so.';
comment on column loci_api.fact_candidate.same_subject is
    'Whether both may be about the same: one subject or party, and categories of which one stands in the other.';
comment on column loci_api.fact_candidate.in_common is
    'What both have in common: subject, other words (words), or nothing (null), also where it is true from later on.';
comment on column loci_api.fact_decision.unsettled is
    'What the fact may outdate, though that is not sure, likeliest first: [{target_id, fact, similarity, is_near}].';
drop index loci_data.memories_fold;
create unique index memories_fold on loci_data.memories (namespace_id, content_hash, fold_scope, category)
    where valid_to is null and status = 'active';
comment on column loci_data.memories.fold_scope is
    'Exact duplicates fold when content, category and this agree: the lineage where one is stated; else whom the memory '
    'is about and whose "I" it holds, where its words leave that open; null is never folded (episodes, stated '
    'valid_from).';
alter table loci_data.api_keys add column user_name text;
alter table loci_data.api_keys add constraint api_keys_user_name_check check (length(user_name) between 1 and 255);
comment on column loci_data.api_keys.user_name is
    'The user for whom the agent speaks and asks with this key; null: nobody in particular.';
create index memory_links_open on loci_data.memory_links (namespace_id, recorded_at, source_id, target_id)
    where type = 'contradicts' and superseded_at is null;
drop function if exists loci_api.retain(text, jsonb, jsonb, boolean);
drop function if exists loci_internal.apply_fact_decisions(integer, text, jsonb, loci_api.fact_decision[]);
drop function if exists loci_api.list_keys(text, integer, uuid, uuid);
drop function if exists loci_api.whoami();
drop function if exists loci_api.short_statements(text, bigint[], timestamptz);
drop function if exists loci_api.expand_recall_hits(text, text, bigint[], bigint[], text[], jsonb, timestamptz, timestamptz);
drop function if exists loci.context_parts(text, text, text, text, bigint[], text[], timestamptz, timestamptz, boolean, boolean);
reset role
"""
# Whose words and whose facts: for loci_internal.profile_memories. An index cannot name functions, which are made after this, so it
# has the bodies of loci.canonical_name, loci.is_first_person and loci_internal.memory_party; the planner puts these in their place.
CANONICAL: LiteralString = r"""btrim(regexp_replace(
    case when octet_length({text}) = length({text}) then lower(regexp_replace({text}, '[\u0001-\u001F\u007F]', ' ', 'g'))
         else replace(lower(replace(
             regexp_replace(regexp_replace(regexp_replace(regexp_replace(
                 case when {text} is nfc normalized then {text} else normalize({text}, nfc) end,
                 '[\u0001-\u001F\u007F-\u00A0\u1680\u2000-\u200B\u2028\u2029\u202F\u205F\u3000\uFEFF]', ' ', 'g'),
                 '[\u02B9\u02BB\u02BC\u2018\u2019\u201B\u2032\uFF07]', '''', 'g'),
                 '[\u2010-\u2015\u2212\uFE58\uFE63\uFF0D]', '-', 'g'),
                 '[\u201C-\u201F\u2033\uFF02]', '"', 'g'),
             U&'\0130', 'i')), U&'\03C2', U&'\03C3') end, '  +', ' ', 'g'))"""
INDEXES: LiteralString = r"""
set role loci_owner;
create index memories_first_person on loci_data.memories (namespace_id, (
    case when source is null or lower(source) = 'user' then 'agent ' || coalesce(created_by::text, '')
         else 'name ' || {source} end), importance, doc_id)
where layer <= 2 and left(content, 2000) ~ ('\m(I|[Mm]e|[Mm]y|[Mm]yself|[Ww]e|us|[Oo]urs?|[Ii]ch|[Mm]ich|[Mm]ir|[Mm]ein(e[mnrs]?)?|'
    '[Ww]ir|uns|[Uu]nser(e[mnrs]?)?)\M(?![.)-])|\mi(''|’| |$)|^(The |the |Der |Die )?([Uu]ser|Benutzer|Nutzerin?)\M');
create index memories_about on loci_data.memories (namespace_id, ({about}), importance, doc_id)
where layer <= 2 and about is not null;
reset role
""".replace("{source}", CANONICAL.replace("{text}", "source")).replace("{about}", CANONICAL.replace("{text}", "about"))
DOWNGRADE: LiteralString = """
set role loci_owner;
drop index loci_data.memories_about;
drop index loci_data.memories_first_person;
drop index loci_data.memory_links_open;
alter table loci_data.api_keys drop column user_name;
drop index loci_data.memories_fold;
alter table loci_data.memories drop column about cascade;
create unique index memories_fold on loci_data.memories (namespace_id, content_hash, fold_scope)
    where valid_to is null and status = 'active';
alter type loci_api.fact_decision drop attribute unsettled;
alter type loci_api.fact_candidate drop attribute in_common;
alter type loci_api.fact_candidate drop attribute same_subject;
drop type loci_internal.asked_of cascade;
alter type loci_internal.memory_filter drop attribute about;
alter type loci_internal.memory_filter drop attribute party;
alter type loci.memory_record drop attribute about cascade;
alter type loci.memory_details drop attribute about cascade;
reset role
"""


def upgrade() -> None:
    """Add what says whose fact a memory is."""
    execute(op.get_bind(), UPGRADE)
    execute(op.get_bind(), INDEXES)


def downgrade() -> None:
    """Take it away, with what it says."""
    execute(op.get_bind(), DOWNGRADE)
