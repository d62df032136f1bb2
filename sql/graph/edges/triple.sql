-- An edge as people and models read it: Alice --works_on--> RockBot (confidence=0.90), a literal in quotation marks. On
-- one line, whatever the names hold. Pure. for anybody's queries.
create or replace function loci.triple(p_source text, p_type text, p_target text, p_literal text,
                                       p_confidence double precision) returns text
language sql immutable parallel safe
return regexp_replace(
    concat(p_source, ' --', p_type, '--> ', coalesce(p_target, '"' || p_literal || '"'), ' (confidence=',
           to_char(p_confidence, 'FM0.00'), ')'),
    '\s+', ' ', 'g');
comment on function loci.triple(text, text, text, text, double precision) is
    'A line that shows an edge: source, type, target or literal, confidence.';

-- A step of a path, with the way in which the edge points: along it --works_on-->, against it <--works_on--. Pure.
create or replace function loci_internal.path_step(p_type text, p_along boolean) returns text
language sql immutable parallel safe
return case when p_along then '--' || p_type || '-->' else '<--' || p_type || '--' end;
comment on function loci_internal.path_step(text, boolean) is
    'An edge type as a step of a path, with the way in which it points.';
