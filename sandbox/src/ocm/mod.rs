//! Stand-ins for Open Cluster Management: placement, work agent, registration, add-ons.
